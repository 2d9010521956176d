"""Jobs that a worker gives back without a failure."""

import pytest
from django.db import OperationalError

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.services.dispatch.fetch import fetch
from jobs.services.read.show import show
from jobs.worker import returns as module
from jobs.worker.returns import Returns
from ojs_tasks import Context
from ojs_tasks.worker.in_flight import InFlight
from tests.asserts import assert_state
from tests.factories import stored_ids
from tests.jobs.worker.conftest import Answers

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def in_flight() -> InFlight:
    """Return the jobs in flight of a process with one slot."""
    return InFlight(1, lambda: None)


@pytest.fixture
def returns(in_flight: InFlight, answers: Answers) -> Returns:
    """Return the returns of worker w1."""
    return Returns("w1", in_flight, answers)


def claimed(number: int) -> list[Context]:
    """Return attempts of worker w1."""
    stored_ids(number)
    jobs = fetch(FetchRequest(("default",), count=number, worker_id="w1")).jobs
    assert len(jobs) == number
    return [Context(job, "w1") for job in jobs]


def test_jobs_that_are_given_back_are_available_again_without_a_failure(
    returns: Returns, in_flight: InFlight
) -> None:
    (context,) = claimed(1)
    in_flight.add([context])

    returns.give_back([context.job])

    assert_state(State.AVAILABLE, context.job.id)
    assert show(context.job.id).errors is None
    assert in_flight.count() == 0


def test_nothing_is_sent_for_no_job(returns: Returns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "nack", None)

    returns.give_back([])


def test_without_a_database_the_leases_give_the_jobs_back(
    returns: Returns, in_flight: InFlight, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nack(_drafts: object) -> None:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(module, "nack", nack)
    (context,) = claimed(1)
    in_flight.add([context])

    returns.give_back([context.job])

    assert in_flight.count() == 0
    assert_state(State.ACTIVE, context.job.id)


def test_only_claims_whose_answer_was_lost_are_given_back(
    returns: Returns, in_flight: InFlight
) -> None:
    kept, lost = claimed(2)
    in_flight.add([kept])
    returns.give_back_lost_claims()
    assert_state(State.ACTIVE, kept.job.id, lost.job.id)

    returns.may_have_lost_claims = True
    returns.give_back_lost_claims()

    assert_state(State.ACTIVE, kept.job.id)
    assert_state(State.AVAILABLE, lost.job.id)
    assert not returns.may_have_lost_claims


def test_lost_claims_are_given_back_only_after_all_answers_are_sent(
    returns: Returns, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lost,) = claimed(1)
    monkeypatch.setattr(answers, "flush", lambda _timeout_s: False)
    returns.may_have_lost_claims = True

    returns.give_back_lost_claims()

    assert_state(State.ACTIVE, lost.job.id)
    assert returns.may_have_lost_claims


def test_a_lost_claim_whose_commit_waited_for_a_standby_is_found_later(
    returns: Returns, in_flight: InFlight, monkeypatch: pytest.MonkeyPatch
) -> None:
    returns.may_have_lost_claims = True
    returns.give_back_lost_claims()  # nobody sees the claim yet
    kept, lost = claimed(2)
    in_flight.add([kept])
    returns.give_back_lost_claims()
    assert_state(State.ACTIVE, kept.job.id, lost.job.id)

    monkeypatch.setattr(returns, "_looks_at", 0.0)
    returns.give_back_lost_claims()

    assert_state(State.ACTIVE, kept.job.id)
    assert_state(State.AVAILABLE, lost.job.id)
