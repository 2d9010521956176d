"""manage.py quickstart: a whole server with one command."""

import socket
import time
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ojs_project import env, quickstart, sources
from ojs_project.folder import FolderError, leave, take
from ojs_project.postgres import Cluster
from ojs_project.supervisor import Supervisor

START_S = 120
DIRECTLY = build_opener(ProxyHandler({}))  # our own address needs no proxy
FAILED = 2  # exit code


class Command(BaseCommand):
    """Start PostgreSQL, the HTTP server, workers and the django-q2 cluster, and end them together.

    With DATABASE_URL no PostgreSQL is started. A second Ctrl-C shortens the wait for running work.
    """

    help = "Run a whole OJS server: database, API, console and workers."
    requires_system_checks: list[str] = []  # the database does not exist yet

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=port_number, default=8000)
        parser.add_argument("--data-dir", type=Path, default=Path(".ojs"))
        parser.add_argument("--demo", action=BooleanOptionalAction, default=False)
        parser.add_argument("--auth", choices=["on", "off"], help="default: OJS_AUTH, else off")
        parser.add_argument("--http-workers", type=_number, default=2)
        parser.add_argument("--http-threads", type=_number, default=4)
        parser.add_argument("--workers", type=_number, default=1)
        parser.add_argument(
            "--reload", action="store_true",
            help="restart the processes when a file of the code changes; for development",
        )  # fmt: skip

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until Ctrl-C or SIGTERM."""
        options["auth"] = options["auth"] or ("on" if env.text("OJS_AUTH") == "apikey" else "off")
        options["folder"] = options["data_dir"].resolve()
        _check_host(options["host"], options["auth"])
        check_port(options["host"], options["port"])
        supervisor = Supervisor()
        supervisor.follow_signals()
        try:
            with _database(options["folder"], supervisor) as url:
                self._serve(supervisor, quickstart.environment(url, options), options)
        except FolderError as problem:
            raise CommandError(str(problem), returncode=FAILED) from None

    def _serve(
        self, supervisor: Supervisor, environment: dict[str, str], options: dict[str, Any]
    ) -> None:
        first = quickstart.prepare(environment, options, lambda: supervisor.is_over)
        url = f"{quickstart.base_url(options)}/ojs/v1/health"
        until = time.monotonic() + START_S
        if not supervisor.is_over:
            children = quickstart.children(environment, options)
            if options["reload"]:
                supervisor.reload_when(sources.of_project().have_changed, children)
            for child in children:
                supervisor.add(child)
            supervisor.watch(lambda: answers(url) or time.monotonic() > until)
        if first.is_new or not supervisor.is_over:  # password and key are shown only here
            self.stdout.write(quickstart.greeting(first, environment, options))
            self.stdout.flush()
        if not supervisor.is_over and time.monotonic() > until:
            raise CommandError(f"{url} did not answer within {START_S} s", returncode=FAILED)
        supervisor.watch()
        self.stdout.write("stopping …")


@contextmanager
def _database(folder: Path, supervisor: Supervisor) -> Iterator[str | None]:
    """Lock the data dir and run its cluster, unless a URL is given; finally stop all services."""
    if env.is_set("DATABASE_URL"):
        lock = take(folder)
        try:
            yield None
        finally:
            supervisor.stop()
            leave(lock)
        return
    with Cluster(folder) as cluster:
        supervisor.add(quickstart.Database(cluster), is_running=True)
        try:
            yield cluster.url
        finally:
            supervisor.stop()


def answers(url: str) -> bool:
    """Return whether a URL answers with success."""
    try:
        with DIRECTLY.open(url, timeout=2):
            return True
    except (URLError, OSError):
        return False


def port_number(text: str) -> int:
    """Return a port. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:  # noqa: PLR2004 - the last port
        raise ArgumentTypeError(f"{text} is not a port: use 1 to 65535")
    return int(text)


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text} is not a number of processes: use 1 or more")
    return int(text)


def _check_host(host: str, auth: str) -> None:
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if auth == "off" and not is_local:
        raise CommandError(
            f"{host} can be reached from outside: add --auth on, or serve 127.0.0.1",
            returncode=FAILED,
        )


def check_port(host: str, port: int) -> None:
    """Check that the port is free. Raises CommandError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise CommandError(
                f"cannot serve {host}:{port}: {problem.strerror}", returncode=FAILED
            ) from None
