"""The terms: options of jobs as members of an envelope, and wrong names."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest

from jobs.domain.envelope import MEMBERS, parse_job
from ojs_tasks import UnknownTerm
from ojs_tasks.foreign_terms import FOREIGN, FOREIGN_MEMBERS
from ojs_tasks.term_types import JobTerms, RateLimitTerms, RetryTerms, Terms, UniqueTerms
from ojs_tasks.terms import OF_CALL, OF_HANDLER, TERMS, with_terms

AT = datetime(2099, 1, 1, tzinfo=UTC)
JOB_ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"
LIMIT = {"key": "smtp", "rate": {"limit": 10, "period": timedelta(minutes=1)}, "on_limit": "wait"}
FULL: dict[str, Any] = {
    "queue": "mail", "priority": "high", "tags": ("a", "b"), "version": "2.0", "pending": False,
    "schema": "urn:x:1", "timeout": timedelta(minutes=2), "visibility_timeout": 90,
    "result_ttl": timedelta(hours=1), "delay": 60, "expires_at": AT, "id": JOB_ID,
    "meta": {"user": 7}, "tenant": "north", "attributes": {"x_shard": 3}, "rate_limit": LIMIT,
    "retry": {"max_attempts": 5, "initial_interval": 2, "max_interval": timedelta(minutes=1),
              "backoff_coefficient": 1.5, "backoff_strategy": "linear", "jitter": False,
              "non_retryable_errors": ("Auth.*",), "on_exhaustion": "dead_letter"},
    "unique": {"keys": ["type", "args"], "period": timedelta(minutes=5), "on_conflict": "ignore"},
}  # fmt: skip


def test_each_term_sets_its_member() -> None:
    assert with_terms({}, FULL, "a.b") == {
        "queue": "mail", "priority": "high", "tags": ["a", "b"], "version": "2.0",
        "pending": False, "schema": "urn:x:1", "timeout_ms": 120_000,
        "visibility_timeout_ms": 90_000, "result_ttl": 3600, "scheduled_at": "+PT60S",
        "expires_at": "2099-01-01T00:00:00+00:00", "id": JOB_ID,
        "meta": {"user": 7, "tenant_id": "north"}, "x_shard": 3,
        "rate_limit": {"key": "smtp", "rate": {"limit": 10, "period": "PT60S"}, "on_limit": "wait"},
        "retry": {"max_attempts": 5, "initial_interval": "PT2S", "max_interval": "PT60S",
                  "backoff_coefficient": 1.5, "backoff_strategy": "linear", "jitter": False,
                  "non_retryable_errors": ["Auth.*"], "on_exhaustion": "dead_letter"},
        "unique": {"keys": ["type", "args"], "period": "PT300S", "on_conflict": "ignore"},
    }  # fmt: skip


def test_the_server_takes_the_members_of_all_terms() -> None:
    draft = parse_job({**with_terms({}, FULL, "a.b"), "type": "a.b", "args": []})

    assert (draft.retry.initial_interval_ms, draft.timeout_ms) == (2000, 120_000)
    assert draft.extra == {"x_shard": 3}
    assert draft.unique is not None
    assert draft.unique.period_ms == 300_000


def test_there_is_a_term_for_each_member_that_a_producer_may_set() -> None:
    by_another_name = {
        "specversion", "type", "args", "options", "timeout", "visibility_timeout", "delay_until",
    }  # fmt: skip

    assert {row.member for row in TERMS.values()} - {""} == MEMBERS - by_another_name


@pytest.mark.parametrize(
    ("types", "names"),
    [
        (Terms, set(TERMS)),
        (JobTerms, set(TERMS) - OF_CALL),
        (RetryTerms, set(FULL["retry"])),
    ],
)
def test_type_checkers_know_the_same_names(types: type, names: set[str]) -> None:
    assert set(get_type_hints(types)) == names


@pytest.mark.parametrize(
    ("term", "types"),
    [("retry", RetryTerms), ("unique", UniqueTerms), ("rate_limit", RateLimitTerms)],
)
def test_a_policy_takes_the_members_that_type_checkers_know(term: str, types: type) -> None:
    for member in get_type_hints(types):
        with pytest.raises(TypeError, match=member) as raised:
            with_terms({}, {term: {member: object()}}, "a.b")
        assert not isinstance(raised.value, UnknownTerm)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"prioritty": 1}, "job 'a.b' has no term 'prioritty': did you mean 'priority'?"),
        ({"Queue": "x"}, "job 'a.b' has no term 'Queue': did you mean 'queue'?"),
        ({"countdown": 60}, "job 'a.b': 'countdown' is Celery's name: use delay=60"),
        ({"eta": AT}, "'eta' is Celery's name: use scheduled_at=…"),
        ({"max_retries": 3}, "'max_retries' is Celery's name: use retry={\"max_attempts\": 4}"),
        ({"bind": True}, "'bind' is Celery's name: use current_job()"),
        ({"acks_late": True}, "'acks_late' is Celery's name: jobs are always acknowledged after"),
        ({"rate_limit": "10/m"}, "rate_limit='10/m' is Celery's form: use"),
        ({"queueing_lock": "x"}, "'queueing_lock' is procrastinate's name: use unique="),
        ({"cluster": "x"}, "'cluster' is django-q2's name: use queue=…"),
        ({"job_timeout": 5}, "'job_timeout' is RQ's name: use timeout=60"),
        ({"timeout_ms": 5}, "'timeout_ms' is the wire's name: use timeout=60, in seconds"),
        ({"count_down": 5}, "has no term 'count_down': use delay=60"),
        ({"zzz": 1}, "has no term 'zzz': the terms are attributes, delay"),
        ({"idempotent": True}, "'idempotent' is a term of @job, not of a single call"),
        ({"retry": {"max_attempt": 1}}, "retry has no term 'max_attempt': did you mean"),
        ({"retry": {"max_retries": 1}}, "retry: 'max_retries' is Celery's name: use"),
        ({"unique": {"within": 5}}, "unique: 'within' is the wire's name: use \"period\""),
        ({"attributes": {"queue": "x"}}, "custom members alone, and 'queue' is none"),
    ],
)
def test_an_unknown_term_is_refused_with_the_right_one(terms: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnknownTerm) as raised:
        with_terms({}, terms, "a.b")

    assert problem in str(raised.value)


@pytest.mark.parametrize("name", sorted(set(FOREIGN) | set(FOREIGN_MEMBERS)))
def test_no_name_of_another_library_is_a_term(name: str) -> None:
    """`rate_limit`, `priority` and others mean the same here, or differ in their values."""
    assert name in FOREIGN_MEMBERS or (name not in TERMS and name not in OF_HANDLER)


def test_the_id_belongs_to_a_single_call() -> None:
    with pytest.raises(UnknownTerm, match="use options\\(id=…\\)"):
        with_terms({}, {"id": JOB_ID}, "a.b", of_call=False)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"tags": "a"}, "tags must be a list of texts"), ({"queue": 5}, "queue must be str, not 5"),
        ({"priority": True}, "priority must be int or str"), ({"meta": []}, "meta must be a dict"),
        ({"retry": 5}, "retry must be a dictionary"),
        ({"retry": {"max_attempts": "5"}}, "retry\\['max_attempts'\\] must be int"),
        ({"timeout": "60"}, "timeout must be a timedelta"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(terms: dict[str, Any], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        with_terms({}, terms, "a.b")


def test_delay_and_scheduled_at_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        with_terms({}, {"delay": 1, "scheduled_at": AT}, "a.b")


@pytest.mark.parametrize(
    ("before", "terms", "after"),
    [
        ({"scheduled_at": "+PT1S"}, {"delay": None}, {"scheduled_at": None}),
        ({}, {"delay": None, "scheduled_at": 5}, {"scheduled_at": "+PT5S"}),
        ({"scheduled_at": "+PT1S"}, {"scheduled_at": 5}, {"scheduled_at": "+PT5S"}),
        ({"meta": {"a": 1}}, {"tenant": "x"}, {"meta": {"a": 1, "tenant_id": "x"}}),
        ({"meta": {"a": 1, "tenant_id": "x"}}, {"meta": {"b": 2}},
         {"meta": {"b": 2, "tenant_id": "x"}}),
        ({"meta": {"tenant_id": "x"}}, {"meta": {"tenant_id": "y"}}, {"meta": {"tenant_id": "y"}}),
        ({"meta": {"tenant_id": "x"}}, {"tenant": None}, {"meta": {}}),
        ({"result_ttl": 5}, {"result_ttl": -1}, {"result_ttl": -1}),
    ],
)  # fmt: skip
def test_later_terms_replace_earlier_ones(
    before: dict[str, Any], terms: dict[str, Any], after: dict[str, Any]
) -> None:
    assert with_terms(before, terms, "a.b") == after
