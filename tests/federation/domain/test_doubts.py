"""Choice of the job to give up when several have one federation id.

Spec: federation 5.2, ADR 19.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from federation.domain.doubts import Claim, Outcome, Standing, decode, encode, gives_up, judge
from jobs.domain.errors import InvalidRequest
from tests.effort import examples

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ID, JOB = "01912e4a-7b3c-7def-8a12-abcdef123456", "01912e4a-7b3c-7def-8a12-abcdef123457"


def claim(*, started: bool = False, at: datetime = NOON) -> Claim:
    """Return a claim of eu."""
    return Claim(ID, "_default", JOB, at, started=started)


def ours(state: str = "available", *, late_ms: float = -1, is_bound: bool = False) -> Standing:
    """Return a job of us that was enqueued `late_ms` milliseconds after noon."""
    at = NOON + timedelta(milliseconds=late_ms)
    return Standing("us", ID, at, state, is_bound=is_bound)


@pytest.mark.parametrize(
    ("job", "started", "outcome"),
    [
        (ours(), False, Outcome.CANCELLED),
        (ours("scheduled"), False, Outcome.CANCELLED),
        (ours("retryable"), True, Outcome.CANCELLED),
        (ours(late_ms=1), False, Outcome.WINS),
        (ours(late_ms=1), True, Outcome.CANCELLED),
        (ours(late_ms=0.9), False, Outcome.WINS),  # equal in milliseconds: us comes after eu
        (ours("active"), True, Outcome.RAN),
        (ours("completed"), False, Outcome.RAN),
        (ours("discarded", late_ms=5), False, Outcome.RAN),
        (ours("cancelled", late_ms=5), False, Outcome.CANCELLED),
        (ours(is_bound=True), True, Outcome.KEPT),
        (ours("active", is_bound=True), True, Outcome.RAN),
    ],
)
def test_what_started_stays_and_else_the_later_one(
    job: Standing, *, started: bool, outcome: Outcome
) -> None:
    assert judge(job, claim(started=started), "eu") is outcome


def test_claim_is_read_as_it_was_spelled() -> None:
    assert decode(encode(claim(started=True)), "jobs[0]") == claim(started=True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"federation_id": "x"}, "jobs[0].federation_id"),
        ({"job_id": 5}, "jobs[0].job_id"),
        ({"tenant_id": ""}, "jobs[0].tenant_id"),
        ({"enqueued_at": "noon"}, "jobs[0].enqueued_at"),
        ({"started": 1}, "jobs[0].started"),
        ({"more": 1}, "jobs[0].more"),
    ],
)
def test_claim_that_is_wrong_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decode({**encode(claim()), **changes}, "jobs[0]")

    assert refused.value.details["field"] == field


@pytest.mark.parametrize("raw", [5, None, [], {}])
def test_claim_that_is_none_is_refused(raw: object) -> None:
    with pytest.raises(InvalidRequest):
        decode(raw, "jobs[0]")


REGIONS = ("ap", "eu", "us")
PAIRS = [(a, b) for a in REGIONS for b in REGIONS if a != b]


@dataclass
class Region:
    """The job of one region with the federation id."""

    at: int | None = None  # None: no job
    state: str = "available"
    fenced: bool = False
    doubts: set[str] = field(default_factory=set)


class Regions(RuleBasedStateMachine):
    """Regions store the job in any order, by different clocks, and ask one another.

    Questions and answers arrive after any delay, get lost or arrive twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.regions = {one: Region() for one in REGIONS}
        self.questions: list[tuple[str, str, Claim]] = []
        self.answers: list[tuple[str, str, Outcome]] = []
        self.was_stored = False

    @rule(name=st.sampled_from(REGIONS), at=st.integers(0, 3))
    def store(self, name: str, at: int) -> None:
        """Store the job with all regions in doubt that were asked before."""
        region = self.regions[name]
        if region.at is not None or region.fenced:
            return
        region.at = at
        region.doubts = {one for one in REGIONS if one != name} if self.was_stored else set()
        self.was_stored = True

    @rule(name=st.sampled_from(REGIONS))
    def start(self, name: str) -> None:
        if self.regions[name].at is not None and self.regions[name].state == "available":
            self.regions[name].state = "active"

    @rule(pair=st.sampled_from(PAIRS))
    def ask(self, pair: tuple[str, str]) -> None:
        asker, other = pair
        region = self.regions[asker]
        if other in region.doubts and region.at is not None:
            started = region.state != "available"
            at = NOON + timedelta(milliseconds=region.at)
            self.questions.append((asker, other, Claim(ID, "t", asker, at, started=started)))

    @rule(n=st.integers(0, 20), is_lost=st.booleans(), stays=st.booleans())
    def hear(self, n: int, *, is_lost: bool, stays: bool) -> None:
        """Deliver a question, perhaps not for the last time; its answer may be lost."""
        if not self.questions:
            return
        place = n % len(self.questions)
        question = self.questions[place] if stays else self.questions.pop(place)
        answer = self.judged(question)
        if not is_lost:
            self.answers.append(answer)

    def judged(self, question: tuple[str, str, Claim]) -> tuple[str, str, Outcome]:
        asker, other, told = question
        region = self.regions[other]
        if region.at is None:
            region.fenced = True
            return asker, other, Outcome.ABSENT
        at = NOON + timedelta(milliseconds=region.at)
        outcome = judge(Standing(other, other, at, region.state), told, asker)
        if outcome is Outcome.CANCELLED and region.state == "available":
            region.state = "cancelled"
            region.doubts.clear()
        return asker, other, outcome

    @rule(n=st.integers(0, 20))
    def end(self, n: int) -> None:
        if self.answers:
            self.ended(self.answers.pop(n % len(self.answers)))

    def ended(self, answer: tuple[str, str, Outcome]) -> None:
        asker, other, outcome = answer
        region = self.regions[asker]
        waits = region.state == "available"
        if gives_up(outcome) and waits:
            region.state = "cancelled"
            region.doubts.clear()
        if outcome is Outcome.WINS and not waits and region.state != "cancelled":
            return  # it began meanwhile: the next question carries `started`
        region.doubts.discard(other)

    @invariant()
    def none_is_lost(self) -> None:
        if self.was_stored:
            assert self.living(), self.regions

    def living(self) -> list[str]:
        return [
            name
            for name, one in self.regions.items()
            if one.at is not None and one.state != "cancelled"
        ]

    def teardown(self) -> None:
        """Ask until no doubt is left; then at most one job is left, or all had been started."""
        for _ in range(20):
            for pair in PAIRS:
                self.ask(pair)
            while self.questions:
                self.ended(self.judged(self.questions.pop()))
        self.none_is_lost()
        assert not any(one.doubts for one in self.regions.values())
        living = self.living()
        assert len(living) <= 1 or all(self.regions[one].state == "active" for one in living)


TestRegions = Regions.TestCase
TestRegions.settings = settings(max_examples=examples(300), stateful_step_count=40, deadline=None)
