"""A worker that lost a job and claims it again while the old attempt still runs."""

from dataclasses import replace
from time import monotonic

import pytest

from jobs.handlers import Context
from jobs.services.outcome.ack import Ack
from jobs.worker import engine as engines
from jobs.worker.engine import Engine, Terms, _Running
from tests.factories import JobFactory

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return an engine that does not run and sends no answers."""
    made = Engine(Terms("w1", ("default",), concurrency=1))
    monkeypatch.setattr(made._acker, "send", lambda *_outcome, **_how: None)
    return made


def _attempts(engine: Engine) -> tuple[Context, Context]:
    first = JobFactory.create()
    second = replace(first, attempt=first.attempt + 1)
    engine._take([first])
    old = engine._held[first.id]
    engine._take([second])
    return old, engine._held[first.id]


def test_the_end_of_the_old_attempt_keeps_the_new_one(engine: Engine) -> None:
    old, new = _attempts(engine)

    engine._end(_Running(old, 0, monotonic() + 60), Ack(old.job.id))

    assert engine._held == {new.job.id: new}


def test_only_the_new_attempt_is_run(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    _, new = _attempts(engine)
    run: list[Context] = []

    def execute(context: Context) -> Ack:
        run.append(context)
        return Ack(context.job.id)

    monkeypatch.setattr(engines, "execute", execute)
    engine._todo.put(None)
    engine._work()

    assert run == [new]
    assert engine._held == {}
