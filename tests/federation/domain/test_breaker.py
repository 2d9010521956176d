"""The breaker as a state machine. Spec: federation 4.3; contract 23.4."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from federation.domain.breaker import (
    Breaker,
    Outcome,
    Permit,
    Rules,
    State,
    admit,
    force_closed,
    force_open,
    record_outcome,
)
from tests.spec import spec

RULES = Rules(failure_threshold=3, cooldown_s=30, probe_lease_s=20)


def opened() -> Breaker:
    """Return a breaker that three failures opened at the time 100."""
    breaker = Breaker()
    for _ in range(3):
        breaker = record_outcome(breaker, Permit(), Outcome.FAILURE, 100, RULES)
    return breaker


@spec("FED-4.3-b")
def test_and_c_defaults_are_those_of_the_seed() -> None:
    assert (Rules().failure_threshold, Rules().cooldown_s) == (5, 30)


@spec("FED-4.3-d")
def test_an_open_breaker_admits_nothing_until_the_cooldown_ends() -> None:
    assert opened().state is State.OPEN
    assert admit(opened(), 129.9, RULES)[1] is None
    assert opened().reopens_in(110, RULES) == 20


@spec("FED-4.3-d")
def test_a_half_open_breaker_admits_one() -> None:
    breaker, first = admit(opened(), 130, RULES)
    assert first == Permit(is_probe=True)
    breaker, second = admit(breaker, 131, RULES)
    assert second is None
    assert breaker.state is State.HALF_OPEN


def test_a_probe_that_nobody_told_the_end_of_is_forgotten() -> None:
    breaker, _ = admit(opened(), 130, RULES)

    assert not breaker.would_admit(149, RULES)
    assert breaker.would_admit(150, RULES)


def test_a_neutral_probe_leaves_the_place_to_another() -> None:
    breaker, permit = admit(opened(), 130, RULES)
    assert permit is not None

    breaker = record_outcome(breaker, permit, Outcome.NEUTRAL, 131, RULES)

    assert breaker.state is State.HALF_OPEN
    assert breaker.would_admit(131, RULES)


def test_outcomes_of_calls_from_before_it_opened_do_not_count() -> None:
    assert record_outcome(opened(), Permit(), Outcome.SUCCESS, 101, RULES) == opened()
    half_open = opened().at(130, RULES)
    assert record_outcome(half_open, Permit(), Outcome.SUCCESS, 131, RULES) == half_open


def test_what_an_operator_opened_stays_open() -> None:
    forced = force_open(Breaker(), 100)

    assert admit(forced, 10_000, RULES)[1] is None
    assert admit(force_closed(), 10_000, RULES)[1] == Permit()


class BreakerMachine(RuleBasedStateMachine):
    """Begin and end calls in any order while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker()
        self.now = 0.0
        self.running: list[tuple[Permit, float]] = []
        self.opened_at = 0.0

    @rule(seconds=st.floats(0, 40))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def begin(self) -> None:
        before = self.breaker.at(self.now, RULES)
        self.breaker, permit = admit(self.breaker, self.now, RULES)
        if before.state is State.OPEN:
            assert permit is None, "an open breaker is never passed"
        if permit is not None:
            self.running.append((permit, self.now))

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 1000), outcome=st.sampled_from(Outcome))
    def end(self, which: int, outcome: Outcome) -> None:
        permit, _ = self.running.pop(which % len(self.running))
        before = self.breaker.state
        self.breaker = record_outcome(self.breaker, permit, outcome, self.now, RULES)
        if before is not State.OPEN and self.breaker.state is State.OPEN:
            self.opened_at = self.now
            assert outcome is Outcome.FAILURE
        if before is not State.CLOSED and self.breaker.state is State.CLOSED:
            assert permit.is_probe
            assert outcome is Outcome.SUCCESS
            assert before is State.HALF_OPEN, "never from open to closed at once"

    @invariant()
    def one_probe_at_a_time(self) -> None:
        probes = [at for permit, at in self.running if permit.is_probe]
        fresh = [at for at in probes if self.now < at + RULES.probe_lease_s]
        assert len(fresh) <= 1 or self.breaker.state is not State.HALF_OPEN

    @invariant()
    def failures_stay_below_the_threshold_while_closed(self) -> None:
        if self.breaker.state is State.CLOSED:
            assert self.breaker.failures < RULES.failure_threshold

    @invariant()
    def it_stays_open_for_the_cooldown(self) -> None:
        if self.breaker.at(self.now, RULES).state is State.OPEN:
            assert self.now < self.opened_at + RULES.cooldown_s


TestBreakerMachine = BreakerMachine.TestCase
