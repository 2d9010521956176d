"""`ojs_tasks.testing`: handlers of a project in its tests."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from jobs.domain.states import State
from jobs.middleware import Chain, Link
from jobs.models import Event, Job, Lane
from jobs.services.outcome.cancel import cancel
from ojs_tasks import Discard, Retry, current_job, job, registry
from ojs_tasks.testing import TooManyJobs, make_due, run_available
from ojs_tasks.worker import chain


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(registry, "_handlers", {})


@pytest.fixture(params=["transaction of the test", "commits"])
def database(request: pytest.FixtureRequest) -> None:
    """Run a test in a transaction, as most Django tests run, and with real commits."""
    request.getfixturevalue("db" if "transaction" in request.param else "store")


pytestmark = pytest.mark.usefixtures("database")


def test_available_jobs_are_run_by_their_handlers() -> None:
    @job("mail.send", queue="mail")
    def send(address: str, *, subject: str) -> dict[str, str]:
        return {"to": address, "about": subject}

    stored = send.enqueue("ada@example.org", subject="News")
    assert stored is not None

    (run,) = run_available()

    assert (run.id, run.type, run.attempt) == (stored.id, "mail.send", 1)
    assert (run.state, run.error) == (State.COMPLETED, None)
    assert run.result == {"to": "ada@example.org", "about": "News"}
    assert run_available() == []


def test_jobs_run_in_the_order_of_claims_with_those_they_enqueue() -> None:
    @job("a.parent")
    def parent(number: int) -> None:
        child.enqueue(number)

    @job("a.child", priority=5)
    def child(number: int) -> int:
        return number

    for number in (1, 2):
        parent.enqueue(number)

    runs = run_available()

    assert [(run.type, run.result) for run in runs] == [
        ("a.parent", None), ("a.child", 1), ("a.parent", None), ("a.child", 2),
    ]  # fmt: skip


def test_only_named_queues_are_run() -> None:
    @job("a.one", queue="one")
    def one() -> None: ...

    @job("a.two", queue="two")
    def two() -> None: ...

    one.enqueue()
    two.enqueue()

    assert [run.type for run in run_available(["two"])] == ["a.two"]
    assert [run.type for run in run_available()] == ["a.one"]


def test_a_failure_is_raised_after_its_attempt_was_failed() -> None:
    @job("a.fail", retry={"max_attempts": 2, "initial_interval": "PT1H"})
    def fail() -> None:
        raise ValueError("broken")

    fail.enqueue()

    with pytest.raises(ValueError, match="broken"):
        run_available()

    assert run_available() == []  # the job waits for its retry


def test_a_failure_is_shown_and_retried_when_due() -> None:
    @job("a.fail", retry={"max_attempts": 2, "initial_interval": "PT1H"})
    def fail() -> str:
        if current_job().attempt == 1:
            raise ValueError("broken")
        return "mended"

    fail.enqueue()

    (first,) = run_available(raises=False)
    assert (first.state, first.attempt) == (State.RETRYABLE, 1)
    assert first.error is not None
    assert (first.error["type"], first.error["message"]) == ("ValueError", "broken")
    assert make_due() == 1
    (second,) = run_available()
    assert (second.state, second.attempt) == (State.COMPLETED, 2)
    assert (second.error, second.result) == (None, "mended")


@pytest.mark.parametrize(
    ("problem", "state"), [(Retry("later"), State.RETRYABLE), (Discard("no"), State.DISCARDED)]
)
def test_retry_and_discard_are_answers_not_failures(problem: Exception, state: State) -> None:
    @job("a.decide")
    def decide() -> None:
        raise problem

    decide.enqueue()

    (run,) = run_available()

    assert run.state is state


def test_scheduled_jobs_wait_until_they_are_made_due() -> None:
    @job("a.later")
    def later() -> None: ...

    later.options(delay=3600).enqueue()

    assert run_available() == []
    assert make_due() == 1
    assert len(run_available()) == 1


def test_a_failed_statement_of_a_handler_spoils_nothing() -> None:
    @job("a.user", retry={"max_attempts": 1})
    def make(name: str) -> None:
        User.objects.create(username=name)
        User.objects.create(username=name)

    make.enqueue("ada")
    make.enqueue("bob")

    runs = run_available(raises=False)

    assert [run.state for run in runs] == [State.DISCARDED] * 2
    assert [(run.error or {})["type"] for run in runs] == ["IntegrityError"] * 2
    User.objects.all().delete()


def test_a_handler_may_use_transactions() -> None:
    @job("a.user")
    def make() -> int:
        with transaction.atomic():
            User.objects.create(username="ada")
        try:
            with transaction.atomic():
                User.objects.create(username="ada")
        except IntegrityError:
            pass
        return User.objects.count()

    make.enqueue()

    (run,) = run_available()

    assert run.result == 1
    User.objects.all().delete()


def test_a_job_without_handler_fails() -> None:
    @job("a.known")
    def known() -> None: ...

    stranger = known.options(retry={"max_attempts": 1})
    stranger.type = "a.stranger"
    stranger.enqueue()

    (run,) = run_available(raises=False)

    assert (run.error or {})["code"] == "handler_not_found"


def test_a_job_that_is_cancelled_while_it_runs_stays_cancelled() -> None:
    @job("a.odd")
    def odd() -> None:
        cancel(current_job().job.id)

    odd.enqueue()

    (run,) = run_available()

    assert run.state is State.CANCELLED


def test_jobs_without_end_are_noticed() -> None:
    @job("a.loop")
    def loop() -> None:
        loop.enqueue()

    loop.enqueue()

    with pytest.raises(
        TooManyJobs, match=r"5 attempts ran and a job of type a\.loop is still available"
    ):
        run_available(most=5)


def test_execution_middleware_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(context: Any, call: Any) -> Any:
        seen.append(context.job.type)
        return call(context)

    monkeypatch.setattr(chain, "execution_chain", lambda: Chain([Link("note", note)]))
    monkeypatch.setattr(chain, "steps_around", chain.steps_around.__wrapped__)

    @job("a.one")
    def one() -> None: ...

    one.enqueue()
    run_available()

    assert seen == ["a.one"]


def test_a_coroutine_runs_in_the_transaction_of_the_test() -> None:
    @job("a.one")
    async def one() -> bool:
        await current_job().aprogress(0.5)
        await User.objects.acreate(username="ada")
        return await User.objects.filter(username="ada").aexists()

    one.enqueue()
    (run,) = run_available()

    assert run.result is True
    assert User.objects.filter(username="ada").exists()


def test_nothing_is_left_behind_by_the_tests_above() -> None:
    assert not Job.objects.exists()
    assert not Event.objects.exists()
    assert not Lane.objects.exists()
    assert not connection.needs_rollback
