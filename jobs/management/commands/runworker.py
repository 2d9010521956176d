"""manage.py runworker: run the loops, and the handlers of this project."""

import os
import secrets
import signal
import sys
import threading
from collections.abc import Sequence
from signal import SIGCONT, SIGINT, SIGTERM, SIGTSTP
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import logs
from jobs.conf import conf
from jobs.database import bypass_pooler
from jobs.extensions import Loop
from jobs.loops import LoopRunner, all_loops, run_once
from jobs.services.health.health import forget_loops_except
from jobs.services.record.log import LOOP as LOG
from jobs.worker.config import WorkerConfig
from jobs.worker.process import WorkerProcess
from jobs.worker.schedules import start_reconciling
from ojs_tasks import tracing
from ojs_tasks.context import current_job
from ojs_tasks.registry import discover, handled_queues
from ojs_tasks.remote.command import add_server, configure_tracing
from ojs_tasks.remote.command import run as run_remote
from ojs_tasks.worker.parent import run_parent
from ojs_tasks.worker.signals import answer

FEDERATION = "federation_"  # prefix of the names of its loops


class Command(BaseCommand):
    """Run loops and handlers until SIGTERM or SIGINT.

    The parent registers the schedules in code and runs the loops. It keeps `--processes` children,
    which claim jobs and run handlers.
    The first SIGTERM drains; the second ends at once; SIGTSTP stops claiming, SIGCONT resumes.
    Exit code 0: everything finished; 1: some jobs were given back.
    """

    help = "Run the loops of the server and the handlers of this project."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        add_server(parser)
        parser.add_argument("--queues", help="comma-separated, in order; default: the handlers'")
        parser.add_argument("--pool", help="the pool this worker belongs to")
        parser.add_argument("--tenant", help="run only jobs of this tenant")
        parser.add_argument(
            "--concurrency", type=int, default=10, help="jobs that a process runs at once"
        )
        parser.add_argument("--processes", type=int, default=1)
        parser.add_argument("--ready-file", help="file that exists while the worker takes jobs")
        parser.add_argument(
            "--no-federation",
            action="store_true",
            help="leave the loops of federation to other processes",
        )
        parser.add_argument(
            "--no-schedules",
            action="store_true",
            help="leave the schedules in code (@periodic) as they are",
        )
        parser.add_argument("--once", action="store_true", help="exit when no job is available")
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--no-handlers", action="store_true", help="run loops only")
        only.add_argument("--no-loops", action="store_true", help="run handlers only")
        parser.add_argument("--child", action="store_true", help="internal: one worker process")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until a signal ends it."""
        if options["server"]:
            _require_remote(options)
            sys.exit(run_remote(options))
        logs.use_fallback_for_all(_running_job)
        configure_tracing()
        bypass_pooler()
        if options["child"]:
            sys.exit(_run_child(options))
        if not options["no_schedules"] and not options["no_handlers"]:
            discover()
            start_reconciling(once=options["once"])
        loops = [loop for loop in all_loops() if not _is_left(loop.name, options)]
        sys.exit(_run(loops, options))


def _run(loops: Sequence[Loop], options: dict[str, Any]) -> int:
    if options["no_loops"]:
        return _run_pool(options)
    if options["once"]:
        run_once(loop.name for loop in loops)
        code = 0 if options["no_handlers"] else _run_pool(options)
        run_once([LOG])  # the lines of the jobs that ran
        return code
    runner = LoopRunner(loops)
    if options["no_federation"]:  # stopped loops would look like trouble
        forget_loops_except(loop.name for loop in loops)
    runner.start()
    code = _run_loops_only() if options["no_handlers"] else _run_pool(options)
    runner.stop()
    return code


def _running_job() -> str | None:
    """Return the id of the job that this thread runs, for its log lines."""
    try:
        return current_job().job.id
    except RuntimeError:
        return None


def _require_remote(options: dict[str, Any]) -> None:
    """Raise CommandError for options that a remote worker does not have."""
    for name in ("tenant", "no_federation", "no_handlers"):
        if options[name]:
            raise CommandError(f"--{name.replace('_', '-')} does not go with --server")


def _is_left(name: str, options: dict[str, Any]) -> bool:
    """Return whether a loop is left to other processes."""
    return bool(options["no_federation"]) and name.startswith(FEDERATION)


def _run_loops_only() -> int:
    over = threading.Event()
    answer({SIGTERM: over.set, SIGINT: over.set})
    over.wait()
    return 0


def _run_pool(options: dict[str, Any]) -> int:
    arguments = ["--concurrency", str(options["concurrency"])]
    for name in ("queues", "pool", "tenant"):
        if options[name]:
            arguments += [f"--{name}", options[name]]
    if options["once"]:
        arguments.append("--once")
    return run_parent(
        arguments, options["processes"], once=options["once"], grace_s=_grace_s(),
        ready_file=options["ready_file"],
    )  # fmt: skip


def _grace_s() -> float:
    return conf().shutdown_grace_ms / 1000


def _run_child(options: dict[str, Any]) -> int:
    discover()
    queues = options["queues"]
    named = tuple(q.strip() for q in queues.split(",") if q.strip()) if queues else ()
    process = WorkerProcess(
        WorkerConfig(
            # a new identity per process start: a successor must not keep its jobs alive
            worker_id=f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}",
            queues=named or handled_queues(),
            concurrency=options["concurrency"],
            pool=options["pool"],
            tenant=options["tenant"],
            once=options["once"],
            grace_s=_grace_s(),
        )
    )
    signal.signal(SIGINT, signal.SIG_IGN)
    directives = process.directives
    answer({SIGTERM: directives.terminate, SIGTSTP: directives.quiet, SIGCONT: directives.resume})
    code = process.run()
    sys.stdout.flush()
    tracing.flush()
    # stuck threads must not keep the process
    os._exit(code)
