"""Texts of an explanation, without a database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.domain.dispatch.explanation import (
    Place,
    Standing,
    Verdict,
    estimate,
    message,
    standing,
    verdict,
)
from jobs.domain.dispatch.gates import Gate, GateState, Waiting, gates_of, held_until
from jobs.domain.states import State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON, LATER = NOW + timedelta(minutes=1), NOW + timedelta(minutes=2)
JOB = Waiting("mail", "north", State.AVAILABLE, 0, 3, None, None)
FACTS: dict[str, Any] = {
    "now": NOW, "is_known": True, "paused_at": None, "is_draining": False, "maintenance": None,
    "lane": None, "is_apart": False, "is_paused": False, "is_blocked": False, "is_offered": True,
    "expired": False, "limits": [], "started": 0,
    "workers": {"serving": 1, "quiet": 0, "unsaid": 0, "elsewhere": 0},
}  # fmt: skip
LIMIT: dict[str, Any] = {
    "kind": 0, "tenant": "north", "key": "k", "room": 0, "opens_at": None,
    "strategy": "concurrency", "policy": {"concurrency": 2}, "active": 2, "started": None,
    "blocks": False, "blocked_until": None,
}  # fmt: skip


def closed(gate: str = "g", until: datetime | None = None, **more: Any) -> Gate:
    return Gate(gate, GateState.CLOSED, f"{gate} is closed.", until=until, **more)


OPEN = Gate("o", GateState.OPEN, "o is open.")


def gate_of(gate: str, **facts: Any) -> Gate:
    """Return the gate with this name that the facts produce."""
    (found,) = [one for one in gates_of(JOB, FACTS | facts, None) if one.gate == gate]
    return found


@pytest.mark.parametrize(
    ("limit", "words", "is_closed", "until"),
    [
        ({"room": 3, "strategy": None}, "it has room.", False, None),
        ({"room": None, "policy": None, "strategy": None}, "it has room.", False, None),
        ({"room": 1, "blocks": True, "blocked_until": SOON}, "it has room again", True, SOON),
        (
            {"strategy": "paused", "opens_at": SOON},
            "at the request of a",
            True,
            SOON,
        ),
        ({"opens_at": LATER, "blocked_until": SOON}, "2 of its jobs run, 2 may", True, LATER),
        ({"strategy": "throttle", "policy": {"gap_ms": 500.0}}, "at least 0.5 s apart", True, None),
        (
            {"strategy": "rate", "started": 9, "policy": {"rate": 9, "rate_ms": 1000}},
            "9 of its jobs started in 1 s",
            True,
            None,
        ),
    ],
)
def test_limit_in_words(
    limit: dict[str, Any], words: str, is_closed: bool, until: datetime | None
) -> None:
    found = gate_of("limit", limits=[LIMIT | limit])

    assert words in found.message
    assert (found.name, found.is_closed, found.until) == ("k", is_closed, until)


def test_lane_that_a_limit_holds_is_told_by_the_limit() -> None:
    assert not gate_of("lane", is_blocked=True, limits=[LIMIT | {"blocks": True}]).is_closed
    assert "A removed limit still blocks its lane" in gate_of("lane", is_blocked=True).message


def test_maintenance_without_end_or_reason() -> None:
    found = gate_of("maintenance", maintenance={"since": NOW, "until": None, "reason": None})

    assert found.message == "Maintenance is on: no job is handed out until it is switched off."


def test_several_closed_gates_are_counted() -> None:
    words = [
        message(Verdict.HELD, [closed(str(n)) for n in range(number)], None) for number in (1, 2, 3)
    ]

    assert words == [
        "0 is closed.",
        "0 is closed. One more gate is closed.",
        "0 is closed. 2 more gates are closed.",
    ]


def place(ahead: int, *, is_next: bool | None = False, more: bool = False) -> Standing:
    return Standing(Place(0, is_lower_bound=False), Place(ahead, is_lower_bound=more), is_next)


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (place(1), "1 job comes before it."),
        (place(2), "2 jobs come before it."),
        (place(1000, more=True), "at least 1000 jobs come before it."),
        (place(0), "claims first mark the lanes that limits block."),
        (place(0, is_next=None), "it waits for its turn."),
        (None, "it waits for its turn."),
    ],
)
def test_place_in_words(standing: Standing | None, words: str) -> None:
    said = message(Verdict.IN_LINE, [OPEN], standing)

    assert said == f"Nothing holds it back: {words}"


@pytest.mark.parametrize(
    ("found", "is_eligible", "is_next"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"tied": 1}, True, None),
        ({"tied": 1}, False, False),
        ({"own": 1}, True, False),
        ({"others": 1}, True, False),
        ({"more": True}, True, False),
    ],
)
def test_what_is_next(found: dict[str, Any], is_eligible: bool, is_next: bool | None) -> None:
    nothing = {
        "own": 0, "own_more": False, "others": 0, "more": False, "tied": 0,
    }  # fmt: skip

    read = standing(nothing | found, is_eligible=is_eligible)

    assert read is not None
    assert read.is_next is is_next


def test_verdict_prefers_what_keeps_a_job_back() -> None:
    unserved = closed("worker", is_enforced=False)

    assert verdict([closed()], None, is_eligible=False) is Verdict.HELD
    assert verdict([unserved], place(0, is_next=True), is_eligible=True) is Verdict.UNSERVED
    assert verdict([OPEN], place(0, is_next=True), is_eligible=True) is Verdict.NEXT
    assert verdict([OPEN], place(3), is_eligible=True) is Verdict.IN_LINE


def test_gates_open_together_when_the_last_one_does() -> None:
    assert held_until([OPEN], NOW) == NOW
    assert held_until([closed(until=LATER), closed(until=SOON)], NOW) == LATER
    assert held_until([closed(until=NOW - timedelta(days=1))], NOW) == NOW
    assert held_until([closed(until=SOON), closed()], NOW) is None


def test_estimate_names_what_has_no_end() -> None:
    gates = [closed("schedule", SOON), closed("limit", name="queue:mail"), closed("worker")]

    found = estimate(gates, place(3), NOW, 60)

    assert (found.starts_at, found.reason) == (
        None, "the opening time of a gate is unknown: gate limit queue:mail",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gates", "standing", "starts_at", "is_lower_bound"),
    [
        ([OPEN], place(1), LATER, False),
        ([OPEN], place(1, more=True), LATER, True),
        ([closed(until=SOON)], place(0), LATER, True),
        ([closed(until=SOON)], None, SOON, True),
    ],
)
def test_estimate_adds_the_wait_to_the_time_of_opening(
    gates: list[Gate], standing: Standing | None, starts_at: datetime, is_lower_bound: bool
) -> None:
    found = estimate(gates, standing, NOW, 1)

    assert (found.starts_at, found.is_lower_bound) == (starts_at, is_lower_bound)
