"""One worker process from the inside: what cannot be seen from without."""

import subprocess
import sys
import threading

import pytest

from jobs.domain.claim import FetchRequest
from jobs.models import Worker
from jobs.queries import Claimed
from jobs.worker.engine import Engine, Terms
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.usefixtures("store")


class SilentListener:
    """Notices nothing but the call of `wake`."""

    def __init__(self) -> None:
        """Be not woken yet."""
        self.woken = threading.Event()

    def rounds(self) -> int:
        return 0

    def wait(self, seen: int, timeout_s: float) -> None:
        assert self.woken.wait(DEADLINE_S)

    def wake(self) -> None:
        self.woken.set()


def test_gs_17_a_worker_is_known_before_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Terms("w1", ("tests",), 1))
    known: list[bool] = []

    def claim(request: FetchRequest) -> Claimed:
        known.append(Worker.objects.filter(id=request.worker_id).exists())
        engine.terminate()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.engine.fetch", claim)
    monkeypatch.setattr(engine, "_listener", SilentListener())

    assert engine.run() == 0
    assert known == [True]


def test_gs_1_terminating_an_idle_worker_ends_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Terms("w1", ("tests",), 1))
    listener = SilentListener()

    def claim(request: FetchRequest) -> Claimed:
        if not listener.woken.is_set():
            threading.Thread(target=engine.terminate).start()
        return Claimed([], [])

    monkeypatch.setattr("jobs.worker.engine.fetch", claim)
    monkeypatch.setattr(engine, "_listener", listener)

    assert engine.run() == 0


HOLDING_A_LOCK = """
import signal, threading
from jobs.worker.signals import answer

lock, answered = threading.Lock(), threading.Event()

def act():
    with lock:
        answered.set()

answer({signal.SIGTERM: act})
with lock:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
answered.wait()
"""


def test_a_signal_may_arrive_while_the_main_thread_holds_the_lock_its_action_needs() -> None:
    subprocess.run([sys.executable, "-c", HOLDING_A_LOCK], check=True, timeout=DEADLINE_S)
