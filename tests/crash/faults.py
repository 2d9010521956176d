"""Faults of a database, each a context manager: the fault lasts as long as the block."""

import contextlib
import os
import signal
from collections.abc import Iterator

from ojs_project.postgres import Cluster
from tests.processes import family

# deadlines so short that a test meets them; a client that waits PROMISE_S met a hang
SHORT = {"OJS_STATEMENT_TIMEOUT_MS": "500", "OJS_LOCK_TIMEOUT_MS": "400"}
PROMISE_S = 10.0


@contextlib.contextmanager
def stalled(cluster: Cluster) -> Iterator[None]:
    """Stop all processes of a PostgreSQL: the kernel still takes connections and bytes for it."""
    postmaster = int((cluster.data / "postmaster.pid").read_text().split()[0])
    members = family(postmaster)
    try:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
