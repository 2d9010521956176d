"""Reconcile the schedules in code with the server when a remote worker starts."""

import logging
import threading
from collections.abc import Sequence
from typing import Final

from ojs_tasks import declared
from ojs_tasks.exceptions import NoServer, Refused, ServerUnreachable
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.remote.settings import RemoteSettings
from ojs_tasks.server import Draft, Reconciled, project, with_codecs
from ojs_tasks.worker.trouble import Attempts

logger = logging.getLogger("ojs.schedules")

RETRY_S, LONGEST_RETRY_S = 1.0, 30.0
_STOP: Final = threading.Event()  # never set: the thread ends with the process


def start_reconciling(settings: RemoteSettings, *, once: bool) -> None:
    """Reconcile; while the server is away again and again, until it answers.

    With `once` in this thread and a single time, else in a thread of its own. A refusal is logged:
    the worker runs jobs without the schedules, too. Raises NoServer for schedules in a project
    without a name.
    """
    bodies = declared.schedules()
    try:
        owner = project()
    except NoServer:
        if bodies:
            raise
        return
    reconciling = _Reconciling(settings, owner, bodies)
    if once:
        reconciling.try_once()
    else:
        threading.Thread(target=reconciling.run, name="ojs-schedules", daemon=True).start()


class _Reconciling:
    def __init__(self, settings: RemoteSettings, owner: str, bodies: Sequence[Draft]) -> None:
        self._settings, self._owner, self._bodies = settings, owner, bodies

        names = [body["name"] for body in bodies]
        self._facts = {"project": owner, "schedules": names}
        self._attempts = Attempts(
            logger, "schedules.failed", RETRY_S, LONGEST_RETRY_S, **self._facts
        )

    def run(self) -> None:
        """Reconcile until the server has answered."""
        while (pause_s := self.try_once()) is not None:
            _STOP.wait(pause_s)

    def try_once(self) -> float | None:
        """Reconcile; returns how many seconds to wait for the next try, None: it is over."""
        server = RemoteServer(self._settings)
        try:
            self._log(with_codecs(server).reconcile_schedules(self._owner, self._bodies))
        except (ServerUnreachable, NoServer) as problem:
            return self._attempts.failed(problem)
        except Refused as problem:
            if problem.retryable:
                return self._attempts.failed(problem)
            self._refused(problem)
        finally:
            server.close()
        self._attempts.went_well()
        return None

    def _log(self, done: Reconciled) -> None:
        if done.added or done.changed or done.removed:
            facts = {"added": done.added, "changed": done.changed, "removed": done.removed}
            logger.info("schedules.reconciled", extra={"project": self._owner, **facts})
        for name, reason in done.refused.items():
            told = {"project": self._owner, "schedule": name, "reason": reason}
            logger.error("schedule.refused", extra=told)

    def _refused(self, problem: Refused) -> None:
        """Log that nothing was reconciled; a project without schedules misses nothing."""
        if self._bodies:
            logger.error("schedules.refused", extra={**self._facts, "reason": problem.message})
