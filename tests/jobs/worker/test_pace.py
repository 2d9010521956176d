"""How many jobs a worker claims ahead."""

import pytest

from ojs_tasks.worker import pace as module
from ojs_tasks.worker.pace import PACE_S, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time that the module sees; the test sets it."""
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def test_nothing_is_known_at_first(clock: list[float]) -> None:
    assert Pace().per(1.0, 0) == 0


def test_the_pace_is_what_ended_since_the_last_look(clock: list[float]) -> None:
    pace = Pace()

    clock[0] += 2 * PACE_S
    assert pace.per(0.5, 2000) == 1000 / (2 * PACE_S)
    clock[0] += PACE_S
    assert pace.per(1.0, 2010) == 10 / PACE_S


def test_between_looks_it_stays(clock: list[float]) -> None:
    pace = Pace()
    clock[0] += PACE_S
    pace.per(1.0, 100)

    clock[0] += PACE_S / 2

    assert pace.per(1.0, 5000) == 100 / PACE_S
