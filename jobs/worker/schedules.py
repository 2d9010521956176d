"""Reconcile the schedules in code when a worker starts."""

import logging
import threading
from typing import Final

from django.db import connections

from jobs.trouble import Attempts
from ojs_tasks.declared import reconcile

logger = logging.getLogger("ojs.worker")

RETRY_S, LONGEST_RETRY_S = 1.0, 30.0
_STOP: Final = threading.Event()  # never set: the thread ends with the process


def start_reconciling(*, once: bool) -> None:
    """Reconcile now; with an unreachable database again and again, until it succeeds.

    With `once` in this thread, and errors pass through.
    """
    if once:
        reconcile()
    else:
        threading.Thread(target=_reconcile, name="ojs-schedules", daemon=True).start()


def _reconcile() -> None:
    attempts = Attempts(logger, "schedules.failed", RETRY_S, LONGEST_RETRY_S)
    while True:
        try:
            reconcile()
        except Exception as problem:  # jobs run meanwhile
            connections.close_all()
            _STOP.wait(attempts.failed(problem))
        else:
            attempts.went_well()
            connections.close_all()
            return
