"""Encoding and decoding of jobs, there and back. Spec: contract 1.1 to 1.5, 3.3, 3.4."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.api import codec
from jobs.api.override import decode_override
from jobs.conf import conf
from jobs.domain import jsonio
from jobs.domain.claim import FetchRequest
from jobs.domain.errors import (
    BatchTooLarge,
    InvalidRequest,
    OJSError,
    ResultTooLarge,
    Unprocessable,
)
from jobs.domain.job import Job
from jobs.domain.names import META_NAME
from jobs.domain.states import State
from jobs.models import Ready
from jobs.queries import Completed, Failed, Requeued, ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.expire import expire
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.revive import Override
from jobs.services.read.show import show
from jobs.services.workers.heartbeat import Answer, Report, Standing
from tests.factories import EnvelopeFactory, JobFactory, error, stored_ids
from tests.spec import spec

ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def encoded(job: Job, **more: Any) -> dict[str, Any]:
    """Return the JSON of a job as a client reads it."""
    found: dict[str, Any] = jsonio.loads(orjson.dumps(codec.encode_job(job, **more)))
    return found


def sent(**envelope: Any) -> dict[str, Any]:
    """Send an envelope through decoder, store and encoder."""
    draft = codec.decode_job(jsonio.loads_object(jsonio.dumps(EnvelopeFactory.create(**envelope))))
    job = enqueue([draft])[0]
    assert job is not None
    answer, stored = encoded(job), encoded(show(job.id))
    assert answer == stored, "the answer to PUSH is not what GET shows"
    return stored


# --- envelopes ------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(-1e15, 1e15) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
SEGMENT = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
ENVELOPES = st.fixed_dictionaries(
    {"type": st.lists(SEGMENT, min_size=1, max_size=3).map(".".join), "args": st.lists(JSON)},
    optional={
        "queue": st.from_regex(r"[a-z0-9][a-z0-9.-]{0,9}", fullmatch=True),
        "meta": st.dictionaries(st.from_regex(META_NAME, fullmatch=True), JSON, max_size=3),
        "priority": st.integers(-100, 100),
        "tags": st.lists(TEXT.filter(bool), max_size=4, unique=True),
        "timeout": st.integers(1, 9999),
        "visibility_timeout_ms": st.integers(1000, 10**9),
        "schema": st.just("urn:example:schema"),
        "result_ttl": st.integers(-1, 9999),
        "x_hint": JSON,
        "Ünknown name": JSON,
    },
)


@pytest.mark.usefixtures("store")
@settings(max_examples=60)
@given(st.lists(ENVELOPES, min_size=1, max_size=5))
@spec("contract 1.1")
def test_what_is_sent_comes_back(envelopes: list[dict[str, Any]]) -> None:
    for envelope in envelopes:
        assert sent(**envelope).items() >= envelope.items()


@pytest.mark.usefixtures("store")
@spec("contract 1.1")
def test_what_is_not_sent_has_its_default() -> None:
    found = sent(id=ID)

    assert found.pop("created_at") == found.pop("enqueued_at")
    assert found == {
        "specversion": "1.0", "id": ID, "type": "tests.noop", "queue": "default", "args": [],
        "meta": {}, "priority": 0, "tags": [], "timeout_ms": 1_800_000, "state": "available",
        "attempt": 0, "max_attempts": 3,
        "retry": {
            "max_attempts": 3, "initial_interval": "PT1S", "backoff_coefficient": 2.0,
            "max_interval": "PT5M", "jitter": True, "non_retryable_errors": [],
            "on_exhaustion": "discard", "backoff_strategy": "exponential",
        },
    }  # fmt: skip


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "number", [0, -1, 2**53 + 1, 2**63, -(2**64), 10**308, 0.1, -1.5e-7, 1e15, 123456.789]
)
@spec("contract 1.5")
def test_numbers_come_back_as_sent(number: float) -> None:
    found = sent(args=[number], meta={"n": number}, x_n=number)

    assert (found["args"], found["meta"], found["x_n"]) == ([number], {"n": number}, number)


@pytest.mark.usefixtures("store")
def test_d8_times_come_back_in_utc() -> None:
    found = sent(scheduled_at="2099-12-31T23:59:59+05:30", expires_at="2100-01-01T00:00:00.5Z")

    assert found["scheduled_at"] == "2099-12-31T18:29:59Z"
    assert found["expires_at"] == "2100-01-01T00:00:00.500000Z"
    assert found["state"] == "scheduled"


@pytest.mark.usefixtures("store")
@spec("contract 1.4")
def test_a_relative_time_comes_back_absolute() -> None:
    found = sent(scheduled_at="+PT1H", expires_at="+P1D")

    made, at, end = (
        datetime.fromisoformat(found[name]) for name in ("created_at", "scheduled_at", "expires_at")
    )
    assert ((at - made).total_seconds(), (end - made).total_seconds()) == (3600, 86_400)


ALWAYS = {
    "specversion", "id", "type", "queue", "args", "meta", "priority", "tags", "timeout_ms", "retry",
    "state", "attempt", "max_attempts", "created_at",
}  # fmt: skip
AFTER_FAILURE = {"enqueued_at", "started_at", "error", "errors"}
SHOWN: dict[State, set[str]] = {
    State.SCHEDULED: {"scheduled_at"},
    State.PENDING: set(),
    State.AVAILABLE: {"enqueued_at"},
    State.ACTIVE: {"enqueued_at", "started_at", "worker_id"},
    State.RETRYABLE: {*AFTER_FAILURE, "next_attempt_at", "retry_delay_ms"},
    State.COMPLETED: {"enqueued_at", "started_at", "completed_at"},
    State.CANCELLED: {"enqueued_at", "cancelled_at"},
    State.DISCARDED: {*AFTER_FAILURE, "discarded_at", "completed_at", "dead_letter"},
}


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("state", State)
@spec("contract 1.2")
def test_a_job_shows_what_its_state_has_and_nothing_else(state: State) -> None:
    job = JobFactory.create(state=state, worker_id="w1")

    found = encoded(job)

    assert found.keys() == ALWAYS | SHOWN[state]
    assert found["state"] == state.value
    assert None not in found.values()


@pytest.mark.usefixtures("store")
def test_d10_an_expired_job_has_no_completion_and_no_history() -> None:
    job_id = stored_ids(1, expires_at="+PT1H")[0]
    Ready.objects.update(expires_at=ago(1))
    expire()

    found = encoded(show(job_id))

    assert found.keys() == ALWAYS | {
        "enqueued_at", "expires_at", "discarded_at", "error", "dead_letter",
    }  # fmt: skip
    assert found["error"]["type"] == "expired"


@pytest.mark.usefixtures("store")
@spec("contract 1.2")
def test_an_ack_removes_the_error_and_keeps_the_history() -> None:
    job_id = stored_ids(1, retry={"initial_interval": "PT1H"})[0]
    fetch(FetchRequest(("default",)))
    nack([Nack(job_id, error(code="RETRY"))])
    assert encoded(show(job_id))["error"]["attempt"] == 1
    job = JobFactory.create(state=State.ACTIVE)
    ack([Ack(job.id, b"null")])

    found = encoded(show(job.id))

    assert found["result"] is None
    assert "error" not in found


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("result", [None, 0, "", [], {}, {"a": [1, 2**70]}, "ü"])
@spec("contract 1.2")
def test_a_result_comes_back_as_sent(result: Any) -> None:
    job = JobFactory.create(state=State.ACTIVE)
    decoded = codec.decode_ack({"job_id": job.id, "result": result})

    ack([decoded])

    assert encoded(show(job.id))["result"] == result


@pytest.mark.usefixtures("store")
@spec("contract 2.6")
def test_two_looks_without_a_change_are_equal_byte_for_byte() -> None:
    job = JobFactory.create(state=State.RETRYABLE, meta={"b": 1, "a": 2}, x_hint={"z": 1, "y": 2})

    first, second = (orjson.dumps(codec.encode_job(show(job.id))) for _ in range(2))

    assert first == second


@pytest.mark.usefixtures("store")
def test_encode_adds_what_only_one_answer_has() -> None:
    assert encoded(JobFactory.create(), previous_state="pending")["previous_state"] == "pending"


# --- requests of workers --------------------------------------------------------------------------


@spec("contract 3.4")
def test_fetch_is_decoded() -> None:
    assert codec.decode_fetch({"queues": ["a"]}) == FetchRequest(("a",))
    assert codec.decode_fetch(
        {
            "queues": ["b", "a"], "count": 7.0, "worker_id": "w1", "pool": "p",
            "visibility_timeout_ms": 1000, "unknown": 1,
        },
        tenant="t",
    ) == FetchRequest(("b", "a"), 7, "w1", 1000, "t", "t", "p")  # fmt: skip
    assert codec.decode_fetch({"queues": ["a"], "count": 101}).count == 100


FETCH_BAD: dict[str, list[Any]] = {
    "queues": [[], "a", {}, [1], ["A"], [""], ["a"] * 101],
    "count": [0, -1, 1.5, True, "1", []],
    "worker_id": ["", "w" * 257, 5, []],
    "visibility_timeout_ms": [0, 999, 1.5, True, "1000", 10**18],
    "pool": [5, [], ["a", "b"], "", "a b", "-a", "p" * 129],
    "strategy": ["", "fifo", 5, ["strict"]],
    "weights": [5, ["a"], "a"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FETCH_BAD.items() for value in values]
)
@spec("contract 3.4")
def test_a_malformed_fetch_is_refused_naming_the_field(name: str, value: Any) -> None:
    with pytest.raises((InvalidRequest, Unprocessable)) as refused:
        codec.decode_fetch({"queues": ["a"], name: value})

    assert refused.value.details["field"] == name


@pytest.mark.parametrize(("value", "ms"), [(None, 0), (0, 0), (20_000, 20_000), (5.0, 5)])
@spec("contract 3.4")
def test_wait_ms_is_decoded(value: Any, ms: int) -> None:
    assert codec.wait_ms({"wait_ms": value}) == ms


@pytest.mark.parametrize("value", [-1, 20_001, 1.5, True, "5"])
@spec("contract 3.4")
def test_a_malformed_wait_ms_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="wait_ms must be an integer"):
        codec.wait_ms({"wait_ms": value})


@spec("contract 3.4")
def test_ack_is_decoded_and_a_null_result_is_a_result() -> None:
    assert codec.decode_ack({"job_id": "x"}) == Ack("x")
    assert codec.decode_ack({"job_id": "x", "result": None}).result == b"null"
    assert codec.decode_ack({"job_id": "x", "result": [1], "worker_id": "w"}) == Ack(
        "x", b"[1]", "w"
    )


@spec("contract 1.6")
def test_a_result_may_have_its_limit_and_not_a_byte_more() -> None:
    limit = conf().max_result_bytes
    assert codec.decode_ack({"job_id": "x", "result": "r" * (limit - 2)}).result is not None

    with pytest.raises(ResultTooLarge) as refused:
        codec.decode_ack({"job_id": "x", "result": "r" * (limit - 1)})

    assert (refused.value.status, refused.value.details["actual"]) == (413, limit + 1)


@spec("contract 3.4")
def test_nack_is_decoded() -> None:
    failed = codec.decode_nack({"job_id": "x", "error": {"code": "c"}, "worker_id": "w"})
    assert (failed.job_id, failed.requeue, failed.worker_id) == ("x", False, "w")
    assert failed.error is not None
    assert failed.error["code"] == "c"
    assert codec.decode_nack({"job_id": "x", "requeue": True}) == Nack("x", None, requeue=True)
    assert codec.decode_nack({"job_id": "x", "requeue": True, "error": "ignored"}).error is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"error": {"code": "c"}}, "job_id"),
        ({"job_id": "", "error": {"code": "c"}}, "job_id"),
        ({"job_id": 5, "error": {"code": "c"}}, "job_id"),
        ({"job_id": "x"}, "error"),
        ({"job_id": "x", "requeue": False}, "error"),
        ({"job_id": "x", "requeue": "yes"}, "requeue"),
        ({"job_id": "x", "requeue": None}, "requeue"),
        ({"job_id": "x", "error": {}}, "error.code"),
        ({"job_id": "x", "error": {"code": "c"}, "worker_id": ""}, "worker_id"),
    ],
)
@spec("contract 3.4")
def test_a_malformed_nack_is_refused_naming_the_field(body: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        codec.decode_nack(body)

    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    ("body", "ids", "number"),
    [
        ({}, (), 0),
        ({"active_jobs": [ID, "no id"]}, (ID,), 2),
        ({"active_jobs": 3}, (), 3),
        ({"active_jobs": 3, "active_job_ids": [ID]}, (ID,), 3),
        ({"active_job_ids": [ID]}, (ID,), 1),
        ({"active_jobs": [], "active_job_ids": [ID]}, (), 0),
    ],
)
def test_d17_active_jobs_are_a_list_or_a_number_beside_one(
    body: dict[str, Any], ids: tuple[str, ...], number: int
) -> None:
    found = codec.decode_heartbeat({"worker_id": "w", **body})

    assert (found.active_ids, found.active_jobs) == (ids, number)


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        (None, Standing.RUNNING), ("running", Standing.RUNNING), ("quiet", Standing.QUIET),
        ("drain", Standing.QUIET), ("draining", Standing.QUIET),
        ("shutting_down", Standing.QUIET), ("terminate", Standing.TERMINATE),
    ],
)  # fmt: skip
@spec("contract 3.4")
def test_every_spelling_of_a_standing_is_read(state: str | None, standing: Standing) -> None:
    assert codec.decode_heartbeat({"worker_id": "w", "state": state}).standing is standing


@spec("contract 3.4")
def test_what_a_worker_says_of_itself_is_decoded() -> None:
    found = codec.decode_heartbeat(
        {
            "worker_id": "w", "hostname": "h", "pid": 7, "queues": ["a"], "concurrency": 3,
            "labels": {"a": 1}, "started_at": "2026-05-04T12:00:00Z", "pool": "p",
            "visibility_timeout_ms": 5000,
        }
    )  # fmt: skip

    assert found == Report(
        "w", visibility_ms=5000, hostname="h", pid=7, queues=("a",), concurrency=3,
        labels={"a": 1}, started_at=NOON, pool="p",
    )  # fmt: skip


HEARTBEAT_BAD: dict[str, list[Any]] = {
    "worker_id": [None, "", "w" * 257, 5],
    "state": ["", "active", 5, []],
    "active_jobs": ["x", -1, 1.5, True, [5], {}],
    "active_job_ids": ["x", 5, [5]],
    "visibility_timeout_ms": [999, "5000", True],
    "hostname": [5, "h" * 257],
    "pid": [-1, "7", True],
    "queues": ["a", [5], ["A"], ["a"] * 101],
    "concurrency": [-1, 2**31, "3"],
    "labels": ["x", 5],
    "started_at": ["yesterday"],
    "pool": [5, ["a", "b"], ""],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in HEARTBEAT_BAD.items() for value in values]
)
@spec("contract 3.4")
def test_a_malformed_heartbeat_is_refused_naming_the_field(name: str, value: Any) -> None:
    kind = Unprocessable if name in {"state", "pool"} else InvalidRequest  # GS-11, FS-6.2-b
    with pytest.raises(kind) as refused:
        codec.decode_heartbeat({"worker_id": "w", name: value})

    assert refused.value.details["field"] in {name, "time"}


@pytest.mark.parametrize("raw", [None, [], {}, "x", 5])
@spec("contract 11.1")
def test_a_batch_that_is_no_filled_array_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidRequest, match="jobs must be a non-empty array"):
        codec.decode_batch({"jobs": raw})


@spec("contract 11.1")
def test_a_batch_above_the_maximum_is_refused() -> None:
    most = conf().max_batch
    assert len(codec.decode_batch({"jobs": [{}] * most})) == most

    with pytest.raises(BatchTooLarge) as refused:
        codec.decode_batch({"jobs": [{}] * (most + 1)})

    assert refused.value.details["max_batch_size"] == most


def test_a_problem_of_an_item_names_its_place() -> None:
    with pytest.raises(InvalidRequest) as refused:
        codec.decode_item(codec.decode_ack, 3, {})
    assert refused.value.details["index"] == 3

    with pytest.raises(InvalidRequest, match=r"acks\[1\] must be an object"):
        codec.items({"acks": [{}, 5]}, "acks", 10)


# --- answers --------------------------------------------------------------------------------------


def test_d16_the_answer_to_ack_has_both_names_of_the_id() -> None:
    row = Completed(ID, "q", "t", "_default", 2, NOON)

    assert codec.encode_ack(row) == {
        "acknowledged": True, "id": ID, "job_id": ID, "state": "completed", "attempt": 2,
        "completed_at": "2026-05-04T12:00:00Z",
    }  # fmt: skip


@spec("contract 3.4")
def test_the_answer_to_nack_has_what_the_outcome_has() -> None:
    shared = {"id": ID, "job_id": ID, "attempt": 2, "max_attempts": 3}
    waits = Failed(ID, 5, 2, 3, NOON, 1871, None, None, "q", "t", "_default")
    ends = Failed(ID, 8, 2, 3, None, None, NOON, True, "q", "t", "_default")

    assert codec.encode_nack(Requeued(ID, 2, 3)) == {**shared, "state": "available"}
    assert codec.encode_nack(waits) == {
        **shared, "state": "retryable", "next_attempt_at": "2026-05-04T12:00:00Z",
        "retry_delay_ms": 1871,
    }  # fmt: skip
    assert codec.encode_nack(ends) == {
        **shared, "state": "discarded", "discarded_at": "2026-05-04T12:00:00Z",
        "completed_at": "2026-05-04T12:00:00Z", "dead_letter": True,
    }  # fmt: skip


@pytest.mark.parametrize("standing", Standing)
@spec("GS-10")
def test_the_answer_to_a_heartbeat_has_one_of_three_states(standing: Standing) -> None:
    found = codec.encode_heartbeat(Answer(standing, [ID], [], NOON))

    assert found == {
        "state": standing.name.lower(), "jobs_extended": [ID], "cancelled_jobs": [],
        "server_time": "2026-05-04T12:00:00Z", "acknowledged": True,
    }  # fmt: skip
    assert found["state"] in {"running", "quiet", "terminate"}


@pytest.mark.usefixtures("store")
@spec("contract 3.6")
def test_an_override_of_a_manual_retry_is_read_by_the_rules_of_push() -> None:
    job = JobFactory.create(state=State.DISCARDED)
    nulls = dict.fromkeys(("queue", "meta", "priority", "retry"))

    assert decode_override(None, job) is None
    assert decode_override(nulls, job) == Override()
    assert decode_override({"args": [], "priority": "high"}, job) == Override(args=[], priority=10)
    wrong: list[Any] = [{"args": None}, {"queue": "A"}, {"type": "a"}, [], {"retry": {"jitter": 1}}]
    for bad in wrong:
        with pytest.raises(OJSError):
            decode_override(bad, job)
