"""When a call is repeated: without a server."""

from itertools import pairwise
from typing import Any

import pytest

from ojs_tasks.exceptions import ServerUnreachable
from ojs_tasks.remote.exchange import Call, Pause, Reply, Unanswered, asked, retry_after_s

CALL = Call("POST", "jobs")
ONCE = Call("POST", "workers/fetch", is_repeatable=False)
DONE = Reply(201, {})
BUSY = Reply(503, {}, 2.0)
LOST = Unanswered("lost", was_sent=True)
NOT_SENT = Unanswered("no connection", was_sent=False)


def played(
    call: Call, answers: list[Reply | Unanswered], retries: int = 3
) -> tuple[Any, list[float]]:
    """Return the answer of a call, or its error, and the pauses before."""
    script, pauses = asked(call, retries), []
    step: Any = next(script)
    while True:
        try:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = next(script)
                continue
            answer = answers.pop(0)
            lost = answer if isinstance(answer, Unanswered) else None
            step = script.throw(lost) if lost else script.send(answer)
        except StopIteration as end:
            return end.value, pauses
        except ServerUnreachable as problem:
            return problem, pauses


@pytest.mark.parametrize(
    ("call", "answers", "status", "is_repeat"),
    [
        (CALL, [DONE], 201, False),
        (CALL, [LOST, DONE], 201, True),
        (CALL, [NOT_SENT, DONE], 201, False),
        (CALL, [Reply(429, {}), DONE], 201, False),
        (CALL, [Reply(500, {}), DONE], 201, True),
        (CALL, [BUSY, BUSY, LOST, DONE], 201, True),
        (CALL, [BUSY, BUSY, BUSY, BUSY], 503, True),
        (CALL, [Reply(409, {})], 409, False),
        (CALL, [Reply(503, {}, 60.0)], 503, False),
        (ONCE, [NOT_SENT, DONE], 201, False),
        (ONCE, [Reply(429, {}), DONE], 201, False),
        (ONCE, [Reply(504, {})], 504, False),
    ],
)
def test_a_call_is_repeated_where_it_does_no_harm(
    call: Call, answers: list[Reply | Unanswered], status: int, is_repeat: bool
) -> None:
    found, _ = played(call, answers)

    assert (found.reply.status, found.is_repeat) == (status, is_repeat)
    assert answers == []


@pytest.mark.parametrize(("call", "tries"), [(CALL, [LOST] * 4), (ONCE, [LOST])])
def test_a_server_that_stays_away_is_unreachable(call: Call, tries: list[Any]) -> None:
    found, pauses = played(call, tries)

    assert isinstance(found, ServerUnreachable)
    assert tries == []
    assert all(early < late * 2 for early, late in pairwise(pauses))


def test_the_wait_that_the_server_names_counts() -> None:
    _, pauses = played(CALL, [BUSY, DONE])

    assert pauses == [2.0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None), ("7", 7), ("0", 0), ("-1", None), ("soon", None), ("1.5", None),
        ("9" * 400, 86_400), ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2999 07:28:00 GMT", 86_400), ("²", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_in_seconds_or_as_a_date(
    text: str | None, seconds: float | None
) -> None:
    assert retry_after_s(text) == seconds
