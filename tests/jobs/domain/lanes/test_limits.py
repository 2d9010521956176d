"""Forms of `rate_limit` and of limit policies. Spec: contract 27.1, 10.4, 10.5."""

from typing import Any

import pytest

from jobs.domain.errors import InvalidRequest
from jobs.domain.lanes.limits import LimitPolicy, RateLimit, parse_policy, parse_rate_limit
from jobs.domain.lanes.queues import Bound, limit_of, merge, policy_of
from tests.spec import spec

PER_SECOND = {"limit": 5, "period": "PT1S"}


@pytest.mark.parametrize(
    ("raw", "policy"),
    [
        ({"key": "k", "concurrency": 0}, LimitPolicy(concurrency=0)),
        ({"key": "k", "rate": PER_SECOND}, LimitPolicy(rate=5, rate_ms=1000)),
        ({"key": "k", "rate": 1, "period": "second"}, LimitPolicy(rate=1, rate_ms=1000)),
        ({"key": "k", "rate": 9, "period": "day"}, LimitPolicy(rate=9, rate_ms=86_400_000)),
        ({"key": "k", "limit": 100, "period": "1m"}, LimitPolicy(rate=100, rate_ms=60_000)),
        ({"key": "k", "throttle": PER_SECOND}, LimitPolicy(throttle=5, throttle_ms=1000)),
        (
            {"key": "k", "concurrency": 3.0, "rate": PER_SECOND, "on_limit": "drop"},
            LimitPolicy(3, 5, 1000, on_limit="drop"),
        ),
    ],
)
@spec("contract 27.1")
def test_every_form_of_a_key_is_read(raw: dict[str, Any], policy: LimitPolicy) -> None:
    assert parse_rate_limit(raw) == RateLimit("k", policy)


@pytest.mark.parametrize(
    ("raw", "policy", "wire"),
    [
        ({"max_per_second": 2}, LimitPolicy(rate=2, rate_ms=1000), {"max_per_second": 2}),
        ({"max_per_second": 2.5}, LimitPolicy(rate=2, rate_ms=1000), {"max_per_second": 2}),
        (
            {"max_per_second": 0.5},
            LimitPolicy(rate=1, rate_ms=2000),
            {"limit": 1, "period": "PT2S"},
        ),
        (
            {"limit": 7, "period": "PT1M"},
            LimitPolicy(rate=7, rate_ms=60_000),
            {"limit": 7, "period": "PT1M"},
        ),
    ],
)
@spec("contract 27.1")
def test_without_a_key_the_rate_is_the_queues(
    raw: dict[str, Any], policy: LimitPolicy, wire: dict[str, Any]
) -> None:
    found = parse_rate_limit(raw)

    assert found == RateLimit(None, policy)
    assert found.to_wire() == wire


@spec("contract 27.1")
def test_the_normalized_form_is_returned() -> None:
    wire = parse_rate_limit(
        {"key": "k", "rate": 1, "period": "minute", "scope": "global"}
    ).to_wire()

    assert wire == {
        "key": "k", "rate": {"limit": 1, "period": "PT1M"}, "on_limit": "wait", "scope": "global",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "rate_limit"),
        ("1/s", "rate_limit"),
        ({}, "rate_limit.key"),
        ({"concurrency": 3}, "rate_limit.key"),
        ({"key": ""}, "rate_limit.key"),
        ({"key": "a b"}, "rate_limit.key"),
        ({"key": "-a"}, "rate_limit.key"),
        ({"key": "k" * 300, "concurrency": 1}, "rate_limit.key"),
        ({"key": 5, "concurrency": 1}, "rate_limit.key"),
        ({"key": "k"}, "rate_limit"),
        ({"key": "k", "concurrency": -1}, "rate_limit.concurrency"),
        ({"key": "k", "concurrency": True}, "rate_limit.concurrency"),
        ({"key": "k", "concurrency": 10**40}, "rate_limit.concurrency"),
        ({"key": "k", "rate": {"limit": 0, "period": "PT1S"}}, "rate_limit.rate.limit"),
        ({"key": "k", "rate": {"limit": 1}}, "rate_limit.rate.period"),
        ({"key": "k", "rate": {"limit": 1, "period": "soon"}}, "rate_limit.rate.period"),
        ({"key": "k", "rate": {"limit": 1, "period": "PT0S"}}, "rate_limit.rate.period"),
        ({"key": "k", "rate": 1}, "rate_limit.period"),
        ({"key": "k", "throttle": [1]}, "rate_limit.throttle"),
        ({"key": "k", "concurrency": 1, "on_limit": "explode"}, "rate_limit.on_limit"),
        ({"key": "k", "concurrency": 1, "scope": "all"}, "rate_limit.scope"),
        ({"max_per_second": 0}, "rate_limit.max_per_second"),
        ({"max_per_second": "1"}, "rate_limit.max_per_second"),
        ({"max_per_second": 1, "on_limit": "drop"}, "rate_limit.on_limit"),
        ({"max_per_second": 1, "period": "soon"}, "rate_limit.period"),
        ({"max_per_second": 0.5, "period": 0}, "rate_limit.period"),
        ({"max_per_second": 1, "limit": 0, "period": "PT1S"}, "rate_limit.limit"),
        ({"max_per_second": 1, "rate": {"limit": 1, "period": "x"}}, "rate_limit.rate.period"),
        ({"max_per_second": 1, "rate": True}, "rate_limit.rate"),
    ],
)
@spec("contract 27.1")
def test_what_is_no_limit_is_refused_by_name(raw: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_rate_limit(raw)

    assert caught.value.details["field"] == field


def test_policies_survive_their_row() -> None:
    policy = parse_policy({"concurrency": 2, "rate": PER_SECOND, "throttle": PER_SECOND})

    assert LimitPolicy.from_row(policy.to_row()) == policy
    assert policy.to_row()["gap_ms"] == 200


# --- configuration of queues ----------------------------------------------------------------------


@spec("contract 10.4")
def test_absent_members_stay_and_null_resets() -> None:
    first = merge({}, {"concurrency": 3, "max_size": 10, "retention": "7d"}, strict=True)
    second = merge(first, {"concurrency": None, "retention": {"cancelled": "P1D"}}, strict=True)

    assert first == {
        "concurrency": 3,
        "backpressure": {"max_depth": 10},
        "retention": {"completed": "P7D", "discarded": "P7D"},
    }
    assert second == {
        "backpressure": {"max_depth": 10},
        "retention": {"completed": "P7D", "discarded": "P7D", "cancelled": "P1D"},
    }


@spec("contract 10.4")
def test_policy_and_limit_are_what_was_configured() -> None:
    config = merge(
        {},
        {
            "backpressure": {"max_depth": 5, "strategy": "block", "warning_threshold": 0.5},
            "rate_limit": {"max_per_second": 3}, "concurrency": 2,
            "visibility_timeout_ms": 5000, "default_timeout_ms": 6000,
            "allowed_job_types": ["mail.*", "a.b"], "default_retry": {"max_attempts": 7},
        },
        strict=True,
    )  # fmt: skip
    policy = policy_of(config)

    assert policy.bound == Bound(5, strategy="block", warning_threshold=0.5)
    assert (policy.visibility_ms, policy.timeout_ms) == (5000, 6000)
    assert [policy.allows(name) for name in ("mail.send", "a.b", "a.bc")] == [True, True, False]
    assert policy.retry_base().max_attempts == 7
    assert limit_of(config) == LimitPolicy(2, 3, 1000)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"concurrency": -1}, "concurrency"),
        ({"backpressure": 5}, "backpressure"),
        ({"backpressure": {"max_depth": "many"}}, "backpressure.max_depth"),
        ({"backpressure": {"max_depth": 1, "strategy": "x"}}, "backpressure.strategy"),
        (
            {"backpressure": {"max_depth": 1, "warning_threshold": 2}},
            "backpressure.warning_threshold",
        ),
        ({"rate_limit": {"concurrency": 1}}, "rate_limit"),
        (
            {"rate_limit": {"limit": 1, "period": "1m", "on_limit": "reschedule"}},
            "rate_limit.on_limit",
        ),
        ({"visibility_timeout_ms": 1}, "visibility_timeout_ms"),
        ({"default_timeout_ms": 1e99}, "default_timeout_ms"),
        ({"allowed_job_types": []}, "allowed_job_types"),
        ({"allowed_job_types": ["A"]}, "allowed_job_types"),
        ({"retention": {"completed": "soon"}}, "retention.completed"),
        ({"retention": {"forever": "P1D"}}, "retention.forever"),
        ({"retention": {"dead_letter": {"max_age": 0, "max_count": 0}}}, "retention.dead_letter"),
        ({"surprise": 1}, "surprise"),
        ({"objective": 99}, "objective"),
        ({"objective": {"percent": 99}}, "objective.start_within_ms"),
        ({"objective": {"start_within_ms": 30_000}}, "objective.percent"),
        ({"objective": {"start_within_ms": 99, "percent": 99}}, "objective.start_within_ms"),
        ({"objective": {"start_within_ms": 7e9, "percent": 99}}, "objective.start_within_ms"),
        ({"objective": {"start_within_ms": 30_000, "percent": 100}}, "objective.percent"),
        ({"objective": {"start_within_ms": 30_000, "percent": 89.9}}, "objective.percent"),
        ({"objective": {"start_within_ms": 30_000, "percent": True}}, "objective.percent"),
        ({"objective": {"start_within_ms": 30_000, "percent": float("nan")}}, "objective.percent"),
        ({"objective": {"start_within_ms": 30_000, "percent": 99, "x": 1}}, "objective.x"),
    ],
)
@spec("contract 10.4")
def test_what_is_no_configuration_is_refused_by_name(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        merge({}, change, strict=True)

    assert caught.value.details["field"] == field


@spec("contract 10.4")
def test_unknown_members_are_passed_by_where_the_contract_says_so() -> None:
    assert merge({"concurrency": 1}, {"surprise": 1}, strict=False) == {"concurrency": 1}


@spec("contract 27.4")
def test_a_queue_may_be_bounded_in_jobs_in_bytes_or_in_both() -> None:
    both = {"max_depth": 3, "max_size_bytes": 10}
    for bound in ({"max_size_bytes": 10}, {"max_depth": 3}, both):
        assert merge({}, {"backpressure": bound}, strict=True) == {"backpressure": bound}
    stored = {"backpressure": both}
    change = {"backpressure": {"max_size_bytes": None}}
    assert merge(stored, change, strict=True) == {"backpressure": {"max_depth": 3}}
    with pytest.raises(InvalidRequest) as caught:
        merge({}, {"backpressure": {"max_size_bytes": "10"}}, strict=False)
    assert caught.value.details["field"] == "backpressure.max_size_bytes"
