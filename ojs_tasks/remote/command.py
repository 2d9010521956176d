"""The options of `runworker --server`, and what it does with them."""

import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from ojs_tasks import telemetry, tracing
from ojs_tasks.exceptions import NoServer
from ojs_tasks.registry import MODULE, discover, handled_queues, handlers
from ojs_tasks.server import settings, settings_of_server
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.parent import run_parent

GRACE_S: Final = 30.0  # without OJS["SHUTDOWN_GRACE_MS"]
SHARED: Final = ("queues", "pool", "server")  # options that the children get as they are
STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options of a remote worker."""
    add_server(parser)
    parser.add_argument("--queues", help="comma-separated, in order; default: the handlers'")
    parser.add_argument("--pool", help="the pool this worker belongs to")
    parser.add_argument(
        "--concurrency", type=int, default=10, help="jobs that a process runs at once"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--no-schedules",
        action="store_true",
        help="leave the schedules in code (@periodic) as they are",
    )
    parser.add_argument("--ready-file", help="file that exists while the worker takes jobs")
    parser.add_argument("--once", action="store_true", help="exit when no job is available")
    parser.add_argument("--child", action="store_true", help="internal: one worker process")


def add_server(parser: ArgumentParser) -> None:
    """Declare the option that makes a worker a remote one."""
    parser.add_argument(
        "--server", metavar="URL",
        help="work over HTTP for this server; default: OJS['SERVER'], or the server of HTTPBackend."
        " The key is that of the backend with this url, or OJS['API_KEY']",
    )  # fmt: skip


def run(options: Mapping[str, Any]) -> int:
    """Run the parent, or with `--child` one worker process. Returns an exit code."""
    _show_log_lines()
    configure_tracing()
    try:
        return _run_child(options) if options["child"] else _run_pool(options)
    except NoServer as problem:
        raise CommandError(str(problem)) from None


def configure_tracing() -> None:
    """Configure traces by the variables of OpenTelemetry. Raises CommandError for a wrong one."""
    try:
        telemetry.configure()
    except ImproperlyConfigured as problem:
        raise CommandError(str(problem)) from None


def _run_pool(options: Mapping[str, Any]) -> int:
    from ojs_tasks.remote.reconciling import start_reconciling  # noqa: PLC0415 - it needs httpx

    found = _settings(options)
    discover()
    config = _config(options, "")
    arguments = ["--concurrency", str(config.concurrency)]
    for name in SHARED:
        if options[name]:
            arguments += [f"--{name}", options[name]]
    if config.once:
        arguments.append("--once")
    _greet(found, config)
    if not options["no_schedules"]:
        start_reconciling(found, once=config.once)
    return run_parent(
        arguments, options["processes"], once=config.once, grace_s=config.grace_s,
        ready_file=options["ready_file"],
    )  # fmt: skip


def _run_child(options: Mapping[str, Any]) -> int:
    from ojs_tasks.remote.worker import new_worker_id, run_child  # noqa: PLC0415 - it needs httpx

    discover()
    code = run_child(_config(options, new_worker_id()), _settings(options))
    sys.stdout.flush()
    tracing.flush()
    # stuck threads must not keep the process
    os._exit(code)


def _settings(options: Mapping[str, Any]) -> Any:
    from ojs_tasks.remote.settings import RemoteSettings  # noqa: PLC0415 - as above

    server = options["server"] or settings().get("SERVER")
    if not server:
        raise NoServer("name the server: runworker --server URL, or OJS['SERVER']")
    return RemoteSettings.of(settings_of_server(server))


def _config(options: Mapping[str, Any], worker_id: str) -> WorkerConfig:
    queues = options["queues"]
    named = tuple(q.strip() for q in queues.split(",") if q.strip()) if queues else ()
    if options["concurrency"] < 1 or options["processes"] < 1:
        raise CommandError("--concurrency and --processes must be at least 1")
    if not named and not handlers() and not options["pool"]:
        raise CommandError(
            f"this project has no handlers: put functions with @job into a module {MODULE!r} of an"
            " installed app"
        )
    grace_ms = settings().get("SHUTDOWN_GRACE_MS")
    return WorkerConfig(
        worker_id=worker_id,
        queues=named or handled_queues(),
        concurrency=options["concurrency"],
        pool=options["pool"],
        once=options["once"],
        grace_s=GRACE_S if grace_ms is None else grace_ms / 1000,
    )


def _greet(server: Any, config: WorkerConfig) -> None:
    queues = ", ".join(config.queues) or f"those of pool {config.pool}"
    sys.stderr.write(
        f"Working for {server.address}{'' if server.key else ', without an API key'}:"
        f" {len(handlers())} handlers, queues: {queues}\n"
    )


# --- log lines of a project that has not configured logging


class _Formatter(logging.Formatter):
    """Shows the facts of a line, which Python's own formatter leaves out."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts = {n: v for n, v in record.__dict__.items() if n not in STANDARD}
        return " ".join([line, *(f"{name}={value}" for name, value in facts.items())])


def _show_log_lines() -> None:
    """Write lines of level INFO and above to stderr if no handler of the project takes them."""
    logger = logging.getLogger("ojs")
    if logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
