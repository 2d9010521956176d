"""Retry policies: accepted values, delays, and the result of a failure. Spec: contract 5."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.errors import InvalidRequest, InvalidRetryPolicy
from jobs.domain.outcome import retry
from jobs.domain.outcome.retry import (
    STRATEGIES,
    RetryPolicy,
    decide,
    delay_ms,
    from_wire,
    normalise_error,
    parse_policy,
)
from jobs.domain.states import State
from jobs.domain.wire.bounds import MAX_INT, MAX_INTERVAL_MS
from jobs.domain.wire.durations import parse_duration
from ojs_tasks.job_errors import timeout_error
from tests.spec import spec

DEFAULT = {
    "max_attempts": 3,
    "initial_interval": "PT1S",
    "backoff_coefficient": 2.0,
    "max_interval": "PT5M",
    "jitter": True,
    "non_retryable_errors": [],
    "on_exhaustion": "discard",
    "backoff_strategy": "exponential",
}
CALM = RetryPolicy(jitter=False)


def half() -> float:
    """Draw the middle of the range, where jitter multiplies by exactly 1."""
    return 0.5


# --- 5.1: the policy ------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [None, {}, {"unknown": 1}, dict.fromkeys(DEFAULT)])
@spec("contract 5.1")
def test_nothing_given_is_the_default(raw: Any) -> None:
    assert parse_policy(raw).to_wire() == DEFAULT


@pytest.mark.parametrize(
    ("raw", "changed"),
    [
        ({"max_attempts": 10, "on_exhaustion": "dead_letter"},
         {"max_attempts": 10, "on_exhaustion": "dead_letter"}),
        ({"max_attempts": 0}, {"max_attempts": 0}),
        ({"max_attempts": 5.0}, {"max_attempts": 5}),
        ({"max_attempts": MAX_INT}, {"max_attempts": MAX_INT}),
        ({"initial_interval": "PT90S"}, {"initial_interval": "PT1M30S"}),
        ({"initial_interval_ms": 2500}, {"initial_interval": "PT2.5S"}),
        ({"initial_interval_ms": 0}, {}),
        ({"initial_interval": "PT2S", "initial_interval_ms": 9000}, {"initial_interval": "PT2S"}),
        ({"initial_interval": "PT10M"}, {"initial_interval": "PT10M", "max_interval": "PT10M"}),
        ({"max_interval": "PT0.1S"}, {"max_interval": "PT0.1S"}),
        ({"max_interval_ms": 60_000}, {"max_interval": "PT1M"}),
        ({"initial_interval": "PT5S", "max_interval": "PT5S"},
         {"initial_interval": "PT5S", "max_interval": "PT5S"}),
        ({"backoff_coefficient": 1}, {"backoff_coefficient": 1.0}),
        ({"jitter": False}, {"jitter": False}),
        ({"non_retryable_errors": ["A", "B.*"]}, {"non_retryable_errors": ["A", "B.*"]}),
        ({"backoff_strategy": "linear"}, {"backoff_strategy": "linear"}),
        ({"backoff": "none"}, {"backoff_strategy": "none"}),
        ({"backoff": "none", "backoff_strategy": "constant"}, {"backoff_strategy": "constant"}),
    ],
)  # fmt: skip
@spec("contract 5.1")
def test_a_part_is_merged_over_the_default(raw: dict[str, Any], changed: dict[str, Any]) -> None:
    assert parse_policy(raw).to_wire() == DEFAULT | changed


BAD: dict[str, list[Any]] = {
    "max_attempts": [-1, MAX_INT + 1, 1.5, True, "3", [], {}],
    "initial_interval": ["1s", "PT0S", "PT0.0001S", "", 5, True, "P101Y"],
    "max_interval": ["1s", "PT0S", 5, []],
    "initial_interval_ms": [-1, 1.5, True, "5", 2**41],
    "max_interval_ms": [-1, False, "x"],
    "backoff_coefficient": [0.5, 0, -2, True, "2", MAX_INT + 1, 10**400],
    "jitter": [0, 1, "true", []],
    "non_retryable_errors": ["A", [""], [1], {"A": 1}, [None]],
    "on_exhaustion": ["", "retry", "DISCARD", True, 1, ["discard"]],
    "backoff_strategy": ["", "cubic", "LINEAR", 1, []],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
@spec("contract 5.1")
def test_a_violation_is_refused_with_422_naming_the_field(name: str, value: Any) -> None:
    with pytest.raises(InvalidRetryPolicy) as refused:
        parse_policy({name: value})

    assert (refused.value.status, refused.value.type) == (422, "validation_error")
    assert name in refused.value.message
    assert refused.value.details["field"] == f"retry.{name}"


@pytest.mark.parametrize("raw", ["x", 1, [], True])
@spec("contract 5.1")
def test_a_policy_that_is_no_object_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidRetryPolicy, match="retry must be an object"):
        parse_policy(raw)


@spec("contract 5.1")
def test_a_cap_below_the_first_interval_is_refused() -> None:
    with pytest.raises(InvalidRetryPolicy, match="max_interval must not be below"):
        parse_policy({"initial_interval": "PT10S", "max_interval_ms": 9999})


@spec("contract 4.3")
def test_all_problems_are_listed() -> None:
    with pytest.raises(InvalidRetryPolicy) as refused:
        parse_policy({"max_attempts": -1, "jitter": "no", "backoff_coefficient": 0})

    listed = [problem["field"] for problem in refused.value.details["errors"]]
    assert sorted(listed) == ["retry.backoff_coefficient", "retry.jitter", "retry.max_attempts"]


@spec("contract 1.1")
def test_the_cli_alias_counts_when_the_policy_has_no_number() -> None:
    assert parse_policy({"jitter": False}, max_attempts=7).max_attempts == 7
    assert parse_policy({"max_attempts": 2}, max_attempts=7).max_attempts == 2
    with pytest.raises(InvalidRetryPolicy, match="max_attempts"):
        parse_policy(None, max_attempts="many")


@spec("contract 5.1")
def test_a_part_is_merged_over_the_queues_default() -> None:
    base = RetryPolicy(max_attempts=9, initial_interval_ms=60_000, max_interval_ms=120_000)

    assert parse_policy({"jitter": False}, base) == base._replace(jitter=False)
    assert parse_policy({"initial_interval": "PT3M"}, base).max_interval_ms == 180_000


POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(0, MAX_INT),
    initial_interval_ms=st.integers(1, 2**40),
    backoff_coefficient=st.floats(1, 1000),
    max_interval_ms=st.integers(1, 2**40),
    jitter=st.booleans(),
    non_retryable_errors=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    on_exhaustion=st.sampled_from(["discard", "dead_letter"]),
    backoff_strategy=st.sampled_from(STRATEGIES),
)


@given(POLICIES)
def test_a_policy_survives_the_wire(policy: RetryPolicy) -> None:
    assert from_wire(policy.to_wire()) == policy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*DEFAULT, "backoff", "initial_interval_ms"]), JSON))
def test_any_json_is_a_policy_or_a_refusal(raw: dict[str, Any]) -> None:
    try:
        policy = parse_policy(raw)
    except InvalidRetryPolicy:
        return
    assert from_wire(policy.to_wire()) == policy


# --- 5.3: the delay -------------------------------------------------------------------------------

EXPONENTIAL = CALM
LINEAR = CALM._replace(backoff_strategy="linear", initial_interval_ms=5000)
POLYNOMIAL = CALM._replace(backoff_strategy="polynomial", backoff_coefficient=4.0)


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        (EXPONENTIAL, {1: 1, 2: 2, 3: 4, 5: 16, 10: 300}),
        (LINEAR, {1: 5, 2: 10, 3: 15, 5: 25, 10: 50}),
        (POLYNOMIAL, {1: 1, 2: 16, 3: 81, 5: 300, 10: 300}),
        (CALM._replace(backoff_strategy="none"), {1: 1, 2: 1, 10: 1}),
        (CALM._replace(backoff_strategy="constant"), {1: 1, 2: 1, 10: 1}),
        (LINEAR._replace(initial_interval_ms=1000, backoff_coefficient=1.0), {1: 1, 2: 2, 3: 3}),
    ],
)
@spec("contract 5.3")
def test_the_delay_follows_the_table(policy: RetryPolicy, seconds: dict[int, int]) -> None:
    assert {n: delay_ms(policy, n, half) / 1000 for n in seconds} == seconds


@pytest.mark.parametrize("strategy", STRATEGIES)
@spec("contract 5.3")
def test_an_overflow_is_the_cap(strategy: str) -> None:
    policy = RetryPolicy(
        jitter=False, backoff_strategy=strategy, backoff_coefficient=1000.0, max_interval_ms=2**40
    )

    assert 1000 <= delay_ms(policy, MAX_INT, half) <= 2**40


@spec("contract 5.3")
def test_jitter_spreads_from_a_half_to_one_and_a_half() -> None:
    policy = RetryPolicy(initial_interval_ms=1000)

    assert delay_ms(policy, 1, lambda: 0.0) == 500
    assert delay_ms(policy, 1, half) == 1000
    assert delay_ms(policy, 1, lambda: math.nextafter(1, 0)) == 1500


@spec("contract 5.3")
def test_jitter_never_exceeds_the_cap() -> None:
    policy = RetryPolicy(initial_interval_ms=1000, max_interval_ms=1200)

    assert delay_ms(policy, 1, lambda: 0.9) == 1200


@given(POLICIES, st.integers(1, MAX_INT), st.floats(0, 1, exclude_max=True))
@spec("contract 5.3")
def test_a_delay_is_a_whole_number_within_the_cap(
    policy: RetryPolicy, attempt: int, drawn: float
) -> None:
    found = delay_ms(policy, attempt, lambda: drawn)

    assert isinstance(found, int)
    assert 0 <= found <= policy.max_interval_ms


@given(POLICIES, st.integers(1, 1000))
@spec("contract 5.3")
def test_without_jitter_a_later_attempt_never_waits_less(policy: RetryPolicy, attempt: int) -> None:
    calm = policy._replace(jitter=False)

    assert delay_ms(calm, attempt, half) <= delay_ms(calm, attempt + 1, half)


# --- 5.4: the decision ----------------------------------------------------------------------------

LISTED = CALM._replace(non_retryable_errors=("Auth.*", "Broken"))
KEPT = LISTED._replace(on_exhaustion="dead_letter")


@pytest.mark.parametrize(
    ("row", "given_error", "attempt", "state", "is_flagged"),
    [
        (2, {"code": "DISCARD", "type": "X"}, 1, State.DISCARDED, False),
        (2, {"code": "FAIL", "type": "X"}, 1, State.DISCARDED, False),
        (3, {"code": "DEAD_LETTER", "type": "X"}, 1, State.DISCARDED, True),
        (4, {"code": "RETRY", "type": "Broken", "retryable": False}, 1, State.RETRYABLE, False),
        (4, {"code": "RETRY", "type": "X"}, 3, State.DISCARDED, True),
        (5, {"code": "x", "type": "X", "retryable": False}, 1, State.DISCARDED, True),
        (6, {"code": "x", "type": "Broken", "retryable": True}, 1, State.DISCARDED, True),
        (6, {"code": "Broken", "type": "X"}, 1, State.DISCARDED, True),
        (7, {"code": "x", "type": "X"}, 3, State.DISCARDED, True),
        (8, {"code": "x", "type": "X"}, 2, State.RETRYABLE, False),
        (8, {"code": "discard", "type": "X"}, 1, State.RETRYABLE, False),
        (8, {"code": "x", "type": "DISCARD"}, 1, State.RETRYABLE, False),
    ],
)
@spec("contract 5.4")
def test_the_first_row_that_matches_decides(
    row: int, given_error: dict[str, Any], attempt: int, state: State, is_flagged: bool
) -> None:
    decision = decide(KEPT, given_error, attempt, 3, random=half)

    assert (decision.state, decision.dead_letter) == (state, is_flagged), f"row {row}"
    assert (decision.delay_ms is None) is (state is State.DISCARDED)
    assert bool(decision.why) is (state is State.DISCARDED and attempt < 3)


@pytest.mark.parametrize("after_ms", [0, 30_000, MAX_INTERVAL_MS])
def test_a_worker_may_choose_the_delay_beyond_the_policys_longest(after_ms: int) -> None:
    error = normalise_error({"code": "RETRY", "retry_after_ms": after_ms})

    decision = decide(KEPT, error, 1, 3, random=half)

    assert (decision.state, decision.delay_ms) == (State.RETRYABLE, after_ms)


def test_the_chosen_delay_does_not_add_an_attempt() -> None:
    error = normalise_error({"code": "RETRY", "retry_after_ms": 5})

    assert decide(KEPT, error, 3, 3, random=half).state is State.DISCARDED


@spec("contract 5.4")
def test_discard_leaves_the_flag_off() -> None:
    assert not decide(LISTED, {"code": "x", "type": "X"}, 3, 3, random=half).dead_letter


@pytest.mark.parametrize("max_attempts", [0, 1])
@spec("contract 2.3")
def test_with_no_or_one_attempt_the_first_failure_is_final(max_attempts: int) -> None:
    decision = decide(CALM, {"code": "x", "type": "X"}, 1, max_attempts, random=half)

    assert decision.state is State.DISCARDED


@pytest.mark.parametrize(
    ("entry", "name", "matches"),
    [
        ("Auth.*", "Auth.TokenExpired", True),
        ("Auth.*", "Auth.A.B", True),
        ("Auth.*", "Auth.", True),
        ("Auth.*", "Auth", False),
        ("Auth.*", "External.Auth.X", False),
        ("Auth.*", "AuthX", False),
        ("Auth.*", "auth.X", False),
        ("Auth", "Auth", True),
        ("Auth", "Auth.X", False),
        ("*", "Auth", False),
        ("*", "*", True),
        ("A*", "AB", False),
        (".*", "x", False),
        (".*", ".x", True),
        ("A.B.*", "A.B.C", True),
        ("A.+", "A.B", False),
    ],
)
@pytest.mark.parametrize("member", ["type", "code"])
@spec("contract 5.4")
def test_an_entry_matches_exactly_or_by_prefix(
    entry: str, name: str, matches: bool, member: str
) -> None:
    policy = CALM._replace(non_retryable_errors=(entry,))
    given_error = {"type": "other", "code": "other", "message": name, member: name}

    is_final = decide(policy, given_error, 1, 3, random=half).state is State.DISCARDED

    assert is_final is matches


# --- 5.5: the error -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "kind", "code", "message"),
    [
        ({"code": "x"}, "x", "x", "x"),
        ({"type": "T"}, "T", "handler_error", "T"),
        ({"type": "T", "code": "x", "message": "m"}, "T", "x", "m"),
        ({"code": "x", "details": {"error_class": "C"}}, "C", "x", "C"),
        ({"code": "x", "type": "T", "details": {"error_class": "C"}}, "T", "x", "T"),
        ({"code": "x", "details": {"error_class": 5}}, "x", "x", "x"),
        ({"code": "x", "details": {"error_class": ""}}, "x", "x", "x"),
        ({"code": "x", "type": "", "message": ""}, "x", "x", "x"),
        ({"code": "", "type": "T", "message": None}, "T", "handler_error", "T"),
    ],
)
@spec("contract 5.5")
def test_type_code_and_message_are_never_empty(
    raw: dict[str, Any], kind: str, code: str, message: str
) -> None:
    found = normalise_error(raw)

    assert (found["type"], found["code"], found["message"]) == (kind, code, message)


@pytest.mark.parametrize(
    ("raw", "is_retryable"),
    [({}, True), ({"retryable": None}, True), ({"retryable": True}, True),
     ({"retryable": False}, False)],
)  # fmt: skip
@spec("contract 5.4")
def test_an_error_is_retryable_unless_it_says_no(raw: dict[str, Any], is_retryable: bool) -> None:
    assert normalise_error({"code": "x", **raw})["retryable"] is is_retryable


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (None, "error"), ("x", "error"), ([], "error"),
        ({}, "error.code"), ({"message": "m"}, "error.code"), ({"code": ""}, "error.code"),
        ({"code": 5}, "error.code"), ({"type": [], "code": "x"}, "error.type"),
        ({"code": "x", "message": 5}, "error.message"),
        ({"code": "x", "retryable": "no"}, "error.retryable"),
        ({"code": "x", "retryable": 0}, "error.retryable"),
        ({"code": "x", "retry_after_ms": -1}, "error.retry_after_ms"),
        ({"code": "x", "retry_after_ms": "5"}, "error.retry_after_ms"),
        ({"code": "x", "retry_after_ms": True}, "error.retry_after_ms"),
        ({"code": "x", "retry_after_ms": 1.5}, "error.retry_after_ms"),
        ({"code": "x", "details": []}, "error.details"),
        ({"code": "x", "backtrace": 5}, "error.backtrace"),
        ({"code": "x", "backtrace": [5]}, "error.backtrace"),
        ({"code": "x", "backtrace": {}}, "error.backtrace"),
    ],
)  # fmt: skip
@spec("contract 3.4")
def test_a_malformed_error_is_refused(raw: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        normalise_error(raw)

    assert refused.value.details["field"] == field


@spec("contract 1.6")
def test_a_long_message_is_cut() -> None:
    assert len(normalise_error({"code": "x", "message": "m" * 20_000})["message"]) == 10_000


@spec("contract 5.5")
def test_a_backtrace_has_50_frames_and_10_000_characters_at_most() -> None:
    many = normalise_error({"code": "x", "backtrace": ["f"] * 80})["backtrace"]
    long = normalise_error({"code": "x", "backtrace": ["f" * 6000] * 3})["backtrace"]

    assert many == ["f"] * 50
    assert [len(frame) for frame in long] == [6000, 4000]


@spec("contract 5.5")
def test_a_backtrace_of_one_text_is_split_at_newlines() -> None:
    assert normalise_error({"code": "x", "backtrace": "a\nb"})["backtrace"] == ["a", "b"]


@spec("contract 5.5")
def test_details_of_32_kib_are_kept_and_larger_ones_replaced() -> None:
    fits = {"k": "v" * (32 * 1024 - 8)}
    large = {"k": "v" * (32 * 1024 - 7)}

    assert normalise_error({"code": "x", "details": fits})["details"] == fits
    assert normalise_error({"code": "x", "details": large})["details"] == {"truncated": True}


@pytest.mark.parametrize(
    ("found", "kind", "details"),
    [
        (timeout_error(2000, 2104), "timeout",
         {"timeout_kind": "execution", "limit_ms": 2000, "elapsed_ms": 2104}),
        (retry.visibility_error(), "visibility_timeout", None),
        (retry.worker_death_error("w1"), "worker_death", {"worker_id": "w1"}),
    ],
)  # fmt: skip
@spec("contract 5.5")
def test_errors_the_server_makes_have_their_code_as_type(
    found: dict[str, Any], kind: str, details: dict[str, Any] | None
) -> None:
    assert (found["type"], found["code"], found["retryable"]) == (kind, kind, True)
    assert found["message"]
    assert found.get("details") == details


def test_the_default_intervals_are_written_as_durations() -> None:
    assert parse_duration(DEFAULT["initial_interval"]) == RetryPolicy().initial_interval_ms
    assert parse_duration(DEFAULT["max_interval"]) == RetryPolicy().max_interval_ms
