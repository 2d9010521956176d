"""manage.py runworker: the loops, and the handlers of this project."""

import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jobs.loops import LoopRunner, run_once


class Command(BaseCommand):
    """Run the loops until SIGTERM or SIGINT."""

    help = "Run the loops that move jobs along."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--no-handlers", action="store_true", help="run loops only")
        parser.add_argument("--once", action="store_true", help="run every loop dry, then exit")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run until told to stop."""
        if options["once"]:
            self.stdout.write(f"{run_once()} rows changed")
            return
        over = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            over.set()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        runner = LoopRunner()
        runner.start()
        over.wait()
        runner.stop()
