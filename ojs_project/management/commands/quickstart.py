"""manage.py quickstart: a whole server with one command."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from argparse import BooleanOptionalAction
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ojs_project.postgres import Cluster, ClusterError
from ojs_project.supervisor import Child, Supervisor

START_S = 60
ROOT = Path(__file__).resolve().parent.parent.parent.parent
MANAGE = [sys.executable, str(ROOT / "manage.py")]


class Command(BaseCommand):
    """Start PostgreSQL, the HTTP server, workers and the django-q2 cluster; end them together."""

    help = "Run a whole OJS server: database, API, console and workers."
    requires_system_checks: list[str] = []  # the database is not there yet

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--data-dir", type=Path, default=Path(".ojs"))
        parser.add_argument("--demo", action=BooleanOptionalAction, default=False)
        parser.add_argument("--auth", choices=["on", "off"], default="off")
        parser.add_argument("--http-workers", type=int, default=2)
        parser.add_argument("--workers", type=int, default=1)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until Ctrl-C or SIGTERM."""
        _check_host(options["host"], options["auth"])
        _check_port(options["host"], options["port"])
        folder: Path = options["data_dir"].resolve()
        cluster = None
        try:
            if "DATABASE_URL" not in os.environ:
                cluster = Cluster(folder).start()
            self._serve(cluster, folder, options)
        except ClusterError as problem:
            raise CommandError(str(problem), returncode=2) from None
        finally:
            if cluster:
                cluster.stop()

    def _serve(self, cluster: Cluster | None, folder: Path, options: dict[str, Any]) -> None:
        environment = _environment(cluster, folder, options)
        password = self._prepare(environment)
        supervisor = Supervisor(_children(environment, options))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _n, _f: supervisor.over.set())
        supervisor.start()
        try:
            if self._wait_until_healthy(supervisor, options):
                self._greet(options, password, environment)
            supervisor.watch()
        finally:
            self.stdout.write("stopping …")
            supervisor.stop()

    def _prepare(self, environment: dict[str, str]) -> str | None:
        """Migrate and make the first login; returns its password when it is new."""
        password = secrets.token_urlsafe(12)
        made = _run([*MANAGE, "migrate", "--verbosity", "0"], environment)
        if made != 0:
            raise CommandError("migrating failed", returncode=2)
        code = _run([*MANAGE, "ensureadmin"], {**environment, "OJS_ADMIN_PASSWORD": password})
        return password if code == 0 else None

    def _wait_until_healthy(self, supervisor: Supervisor, options: dict[str, Any]) -> bool:
        url = f"{_base(options)}/ojs/v1/health"
        until = time.monotonic() + START_S
        while time.monotonic() < until and not supervisor.over.is_set():
            try:
                with urlopen(url, timeout=2):  # noqa: S310 - our own address
                    return True
            except (URLError, OSError):
                time.sleep(0.1)
        return False

    def _greet(
        self, options: dict[str, Any], password: str | None, environment: dict[str, str]
    ) -> None:
        base = _base(options)
        key = ""
        if options["auth"] == "on":
            key = "  -H 'Authorization: Bearer <key>' \\\n"
            self.stdout.write("API keys: manage.py createapikey NAME --scopes producer")
        login = f"admin / {password}" if password else "admin, with the password of the first start"
        self.stdout.write(
            f"\n  Open Job Spec server   {base}\n  console                {base}/console/\n"
            f"  login                  {login}\n  data                   {options['data_dir']}\n\n"
            f"  curl {base}/ojs/v1/jobs \\\n  -H 'Content-Type: application/json' \\\n{key}"
            """  -d '{"type": "demo.hello", "args": ["world"]}'\n"""
        )
        self.stdout.flush()


def _base(options: dict[str, Any]) -> str:
    host = options["host"]
    return f"http://{f'[{host}]' if ':' in host else host}:{options['port']}"


def _check_host(host: str, auth: str) -> None:
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if auth == "off" and not is_local:
        raise CommandError(
            f"{host} can be reached from outside: add --auth on, or serve 127.0.0.1", returncode=2
        )


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise CommandError(
                f"cannot serve {host}:{port}: {problem.strerror}", returncode=2
            ) from None


def _environment(cluster: Cluster | None, folder: Path, options: dict[str, Any]) -> dict[str, str]:
    environment = dict(os.environ)
    environment.pop("OJS_BUILD", None)
    if cluster:
        environment["DATABASE_URL"] = cluster.url
    if "OJS_SECRET_KEY" not in environment and "OJS_SECRET_KEY_FILE" not in environment:
        environment["OJS_SECRET_KEY_FILE"] = str(_secret(folder))
    if options["auth"] == "off":
        environment |= {"OJS_AUTH": "off", "OJS_ALLOW_INSECURE": "true"}
    else:
        environment["OJS_AUTH"] = "apikey"
        environment.setdefault("OJS_ALLOWED_HOSTS", "*")
    if options["demo"]:
        environment["OJS_DEMO"] = "true"
    if "PROMETHEUS_MULTIPROC_DIR" not in environment:
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(_metrics(folder))
    return environment


def _metrics(folder: Path) -> Path:
    """Return an empty folder where the processes of this start share their metrics."""
    path = folder / "metrics"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def _secret(folder: Path) -> Path:
    """Return the file of the secret key, made on the first start."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "secret-key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path


def _children(environment: dict[str, str], options: dict[str, Any]) -> list[Child]:
    http = [
        sys.executable, "-m", "granian", "--interface", "wsgi",
        "--host", options["host"], "--port", str(options["port"]),
        "--workers", str(options["http_workers"]), "--blocking-threads", "4",
        "--log-level", "warning", "--workers-kill-timeout", "30",
        "ojs_project.wsgi:application",
    ]  # fmt: skip
    found = [Child("http", http, environment)]
    found.append(Child("tasks", [*MANAGE, "qcluster"], environment))
    found += [
        Child(f"worker-{n}", [*MANAGE, "runworker"], environment)
        for n in range(1, options["workers"] + 1)
    ]
    return found


def _run(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, env=environment, check=False, cwd=ROOT).returncode  # noqa: S603
