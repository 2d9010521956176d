"""The threads that run handlers, and attempts of a job that the worker claimed again."""

import threading
from dataclasses import replace
from typing import NoReturn

import pytest

from jobs.domain.job import Job
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.worker.execution import EXECUTION
from ojs_tasks import Context, JobTimeout, current_job
from ojs_tasks import job as register
from ojs_tasks import registry as registered
from ojs_tasks.worker.chain import Steps
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.slots import Slots
from tests.jobs.worker import ojs_jobs as handlers
from tests.jobs.worker.conftest import Answers
from tests.processes import DEADLINE_S, until

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register handlers of its own."""
    monkeypatch.setattr(registered, "_handlers", dict(registered._handlers))


@pytest.fixture
def in_flight() -> InFlight:
    """Return the jobs in flight of a process with one slot."""
    return InFlight(1, lambda: None)


@pytest.fixture
def slots(in_flight: InFlight, answers: Answers) -> Slots:
    """Return slots without threads: the test works in their place."""
    return Slots(1, in_flight, answers, EventLoop(in_flight, EXECUTION), EXECUTION)


def test_the_end_of_the_old_attempt_keeps_the_new_one(
    slots: Slots, in_flight: InFlight, job: Job
) -> None:
    in_flight.add([Context(job, "w1")])
    old = in_flight.begin()
    assert old is not None
    new = Context(replace(job, attempt=2), "w1")
    in_flight.add([new])

    slots.answer(old, Ack(job.id), is_idempotent=False)

    assert in_flight.find(job.id) is new


def test_only_the_new_attempt_is_run(
    slots: Slots, in_flight: InFlight, answers: Answers, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Context(replace(job, attempt=2), "w1")
    in_flight.add([Context(job, "w1")])
    in_flight.add([new])
    in_flight.end_threads()
    run: list[Context] = []

    def execute(context: Context, _steps: Steps) -> Ack:
        run.append(context)
        return Ack(context.job.id)

    monkeypatch.setattr(slots, "_execute", execute)
    slots.work()

    assert run == [new]
    assert [outcome for outcome, _ in answers.sent] == [Ack(job.id)]
    assert in_flight.count() == 0


def test_a_thread_waits_for_the_answer_unless_the_handler_is_idempotent(
    slots: Slots, in_flight: InFlight, answers: Answers, job: Job
) -> None:
    """Check it with `tests.meet`, which fails for the argument of this job."""
    echoing = replace(job, type=handlers.echo.type)
    reporting = replace(job, id="2", type=handlers.meet.type)
    in_flight.add([Context(echoing, "w1"), Context(reporting, "w1")])
    in_flight.end_threads()

    slots.work()

    assert [wait for _, wait in answers.sent] == [False, True]


def test_a_timeout_that_arrives_after_the_handler_is_the_outcome(
    slots: Slots, in_flight: InFlight, answers: Answers, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_context: Context, _steps: Steps) -> NoReturn:
        raise JobTimeout

    monkeypatch.setattr(slots, "_execute", execute)
    in_flight.add([Context(job, "w1")])
    in_flight.end_threads()
    slots.work()

    ((outcome, _),) = answers.sent
    assert isinstance(outcome, Nack)
    assert outcome.error is not None
    assert in_flight.count() == 0


def test_an_attempt_that_was_answered_is_not_answered_again(
    slots: Slots, in_flight: InFlight, answers: Answers, job: Job
) -> None:
    in_flight.add([Context(job, "w1")])
    entry = in_flight.begin()
    assert entry is not None
    in_flight.abandon()

    slots.answer(entry, Ack(job.id), is_idempotent=False)

    assert answers.sent == []
    assert in_flight.count() == 0


def test_threads_start_as_they_are_needed(answers: Answers, job: Job) -> None:
    in_flight = InFlight(3, lambda: None)
    slots = Slots(3, in_flight, answers, EventLoop(in_flight, EXECUTION), EXECUTION)
    met, let_go = threading.Barrier(3), threading.Event()

    def handler() -> None:
        met.wait(DEADLINE_S)
        assert let_go.wait(DEADLINE_S)

    register("a.one")(handler)
    before = set(threading.enumerate())

    def started() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread not in before]

    slots.start()
    try:
        assert len(started()) == 1
        in_flight.add(
            [Context(replace(job, id=str(n), type="a.one", args="[]"), "w1") for n in range(2)]
        )
        met.wait(DEADLINE_S)
        until(lambda: len(started()) == 3)
    finally:
        let_go.set()
        threads = started()
        slots.end()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert len(answers.sent) == 2


def test_a_coroutine_keeps_its_slot_until_its_outcome_is_committed(
    answers: Answers, job: Job
) -> None:
    in_flight = InFlight(1, lambda: None)
    event_loop = EventLoop(in_flight, EXECUTION)
    slots = Slots(1, in_flight, answers, event_loop, EXECUTION)
    begun: list[str] = []

    async def handler() -> None:
        begun.append(current_job().job.id)

    register("a.one")(handler)
    in_flight.add(
        [Context(replace(job, id=str(n), type="a.one", args="[]"), "w1") for n in range(2)]
    )
    slots.start()
    try:
        until(lambda: len(answers.then) == 1)
        assert (begun, in_flight.count()) == (["0"], 2)
        answers.then[0]()
        until(lambda: len(answers.then) == 2)
        assert (begun, in_flight.count()) == (["0", "1"], 1)
    finally:
        slots.end()
        event_loop.stop(DEADLINE_S)


def test_an_idempotent_coroutine_frees_its_slot_at_once(answers: Answers, job: Job) -> None:
    in_flight = InFlight(1, lambda: None)
    event_loop = EventLoop(in_flight, EXECUTION)
    slots = Slots(1, in_flight, answers, event_loop, EXECUTION)

    async def handler() -> None: ...

    register("a.one", idempotent=True)(handler)
    in_flight.add(
        [Context(replace(job, id=str(n), type="a.one", args="[]"), "w1") for n in range(5)]
    )
    slots.start()
    try:
        until(lambda: in_flight.count() == 0)
        assert [waits for _, waits in answers.sent] == [False] * 5
    finally:
        slots.end()
        event_loop.stop(DEADLINE_S)
