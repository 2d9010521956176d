"""Outcomes that the database does not take."""

from collections.abc import Callable, Sequence

import pytest
from django.db import DataError, Error, InternalError, OperationalError

from jobs.worker import answers
from jobs.worker.answers import DatabaseAnswers
from ojs_tasks.worker.ports import Ack, Away, Outcome


def refusing(problem: Error) -> Callable[[Sequence[Outcome]], None]:
    """Return a function that fails."""

    def send(_outcomes: Sequence[Outcome]) -> None:
        raise problem

    return send


@pytest.mark.parametrize("kind", [OperationalError, InternalError])
def test_without_a_database_the_outcomes_have_to_be_sent_again(
    kind: type[Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = kind("lost")
    monkeypatch.setattr(answers, "_send", refusing(problem))

    with pytest.raises(Away) as raised:
        DatabaseAnswers().send([Ack("1")])

    assert raised.value.__cause__ is problem


def test_an_outcome_that_can_never_be_stored_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "_send", refusing(DataError("no json")))

    with pytest.raises(DataError):
        DatabaseAnswers().send([Ack("1")])


def test_the_log_has_the_one_line_of_a_lost_database(caplog: pytest.LogCaptureFixture) -> None:
    tries = answers.acker()._tries
    problem = Away("lost")
    problem.__cause__ = OperationalError("lost")

    tries.failed(problem)

    assert caplog.messages == ["database.lost"]
