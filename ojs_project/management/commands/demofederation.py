"""manage.py demofederation: a demonstration of three regions on one machine."""

import os
import secrets
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ojs_project import env
from ojs_project.folder import FolderError, leave, take
from ojs_project.management.commands.quickstart import FAILED, answers, check_port, port_number
from ojs_project.quickstart import MANAGE
from ojs_project.regions import region_environment
from ojs_project.supervisor import Child, Supervisor

HOSTS = {"us-east": "127.0.0.1", "eu-west": "127.0.0.2", "ap-south": "127.0.0.3"}
JSON = "    -H 'Content-Type: application/json' \\\n   "
START_S = 300  # the first start makes three databases
OWN = {"DATABASE_URL", "DATABASE_URL_FILE", "PROMETHEUS_MULTIPROC_DIR"}


class Command(BaseCommand):
    """Run three servers, each with its own PostgreSQL, that replicate to each other.

    Each serves its own loopback address. A region that is killed starts again by itself.
    """

    help = "Run three regions on this machine: one federation, one console that shows all."
    requires_system_checks: list[str] = []  # the databases do not exist yet

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", type=port_number, default=8000)
        parser.add_argument("--data-dir", type=Path, default=Path(".ojs-federation"))

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until Ctrl-C or SIGTERM."""
        if env.is_set("DATABASE_URL"):
            raise CommandError("each region has its own database: unset DATABASE_URL")
        urls = {region: f"http://{host}:{options['port']}" for region, host in HOSTS.items()}
        for host in HOSTS.values():
            check_port(host, options["port"])
        folder = options["data_dir"].resolve()
        supervisor = Supervisor()
        supervisor.follow_signals()
        try:
            lock = take(folder)
        except FolderError as problem:
            raise CommandError(str(problem), returncode=FAILED) from None
        try:
            self._serve(supervisor, folder, urls)
        finally:
            supervisor.stop()
            leave(lock)

    def _serve(self, supervisor: Supervisor, folder: Path, urls: dict[str, str]) -> None:
        password = _password(folder)
        self.stdout.write("starting three regions, which takes a minute the first time …")
        self.stdout.flush()
        for region in HOSTS:
            supervisor.add(_child(region, folder, urls, password))
        until = time.monotonic() + START_S
        supervisor.watch(lambda: all(map(_is_up, urls.values())) or time.monotonic() > until)
        if supervisor.is_over:
            return
        if time.monotonic() > until:
            raise CommandError(f"not every region answered within {START_S} s", returncode=FAILED)
        self.stdout.write(_greeting(urls, password.read_text()))
        self.stdout.flush()
        supervisor.watch()
        self.stdout.write("stopping …")


def _child(region: str, folder: Path, urls: dict[str, str], password: Path) -> Child:
    host, _, port = urls[region].removeprefix("http://").partition(":")
    command = [
        *MANAGE, "quickstart", "--demo", "--host", host, "--port", port,
        "--data-dir", str(folder / region), "--http-workers", "1",
    ]  # fmt: skip
    kept = {name: text for name, text in os.environ.items() if name not in OWN}
    chosen = {"OJS_ADMIN_PASSWORD_FILE": str(password), **region_environment(region, urls)}
    return Child(region, command, {**kept, **chosen}, grace_s=60.0)


def _password(folder: Path) -> Path:
    """Return the file with the password of all three consoles, made at the first start."""
    path = folder / "password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(12))
    return path


def _is_up(url: str) -> bool:
    return answers(f"{url}/ojs/v1/health")


def _greeting(urls: dict[str, str], password: str) -> str:
    first = next(iter(urls.values()))
    regions = "".join(f"  {region:12} {url}\n" for region, url in urls.items())
    return (
        f"\n{regions}\n  {'console':12} {first}/console/\n  {'login':12} admin / {password}\n\n"
        "  where would it go?\n"
        f"  curl {first}/ojs/v1/federation/route \\\n{JSON}"
        """ -d '{"type": "demo.hello", """
        """"meta": {"ojs.federation.region_affinity": "overflow"}}'\n\n"""
        "  a job that must run in Europe\n"
        f"  curl {first}/ojs/v1/federation/jobs \\\n{JSON}"
        """ -d '{"type": "demo.hello", "args": ["eu"], """
        """"meta": {"ojs.federation.region": "eu-west"}}'\n"""
    )
