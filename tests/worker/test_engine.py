"""One worker process from the inside: what cannot be seen from without."""

import pytest

from jobs.domain.claim import FetchRequest
from jobs.models import Worker
from jobs.queries import Claimed
from jobs.worker.engine import Engine, Terms

pytestmark = pytest.mark.usefixtures("store")


class SilentListener:
    """Never notices anything."""

    def rounds(self) -> int:
        return 0

    def wait(self, seen: int, timeout_s: float) -> None:
        return None


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
