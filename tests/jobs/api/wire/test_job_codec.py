"""Jobs there and back: from JSON to a draft, from a job to its envelope. Spec: contract 1, 3.3."""

from datetime import datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.api.wire import job_codec
from jobs.api.workers import worker_codec
from jobs.conf import conf
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import BatchTooLarge, InvalidRequest
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.domain.wire import jsonio
from jobs.domain.wire.names import META_NAME
from jobs.models import Ready
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.expire import expire
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show
from tests.effort import examples
from tests.factories import EnvelopeFactory, JobFactory, error, stored_ids
from tests.spec import spec

ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"


def encoded(job: Job, **more: Any) -> dict[str, Any]:
    """Return the JSON of a job as a client reads it."""
    found: dict[str, Any] = jsonio.loads(orjson.dumps(job_codec.encode_job(job, **more)))
    return found


def sent(**envelope: Any) -> dict[str, Any]:
    """Send an envelope through decoder, store and encoder."""
    draft = job_codec.decode_job(
        jsonio.loads_object(jsonio.dumps(EnvelopeFactory.create(**envelope)))
    )
    job = enqueue([draft])[0]
    assert job is not None
    answer, stored = encoded(job), encoded(show(job.id))
    assert answer == stored, "the answer to PUSH is not what GET shows"
    return stored


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
@settings(max_examples=examples(60))
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
    decoded = worker_codec.decode_ack({"job_id": job.id, "result": result})

    ack([decoded])

    assert encoded(show(job.id))["result"] == result


@pytest.mark.usefixtures("store")
@spec("contract 2.6")
def test_two_looks_without_a_change_are_equal_byte_for_byte() -> None:
    job = JobFactory.create(state=State.RETRYABLE, meta={"b": 1, "a": 2}, x_hint={"z": 1, "y": 2})

    first, second = (orjson.dumps(job_codec.encode_job(show(job.id))) for _ in range(2))

    assert first == second


@pytest.mark.usefixtures("store")
def test_encode_adds_what_only_one_answer_has() -> None:
    assert encoded(JobFactory.create(), previous_state="pending")["previous_state"] == "pending"


@pytest.mark.parametrize("raw", [None, [], {}, "x", 5])
@spec("contract 11.1")
def test_a_batch_that_is_no_filled_array_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidRequest, match="jobs must be a non-empty array"):
        job_codec.decode_batch({"jobs": raw})


@spec("contract 11.1")
def test_a_batch_above_the_maximum_is_refused() -> None:
    most = conf().max_batch
    assert len(job_codec.decode_batch({"jobs": [{}] * most})) == most

    with pytest.raises(BatchTooLarge) as refused:
        job_codec.decode_batch({"jobs": [{}] * (most + 1)})

    assert refused.value.details["max_batch_size"] == most


@spec("contract 3.3")
@pytest.mark.usefixtures("store")
def test_new_jobs_of_a_request_are_encoded_and_stored_as_they_are_alone() -> None:
    kinds: list[dict[str, Any]] = [
        {}, {"priority": 3}, {"tags": ["a"]}, {"meta": {"meta": "args"}}, {"type": "a.b@1.2"},
        {"scheduled_at": "+PT5M"}, {"expires_at": "+PT5M"}, {"pending": True}, {"strange": [1]},
        {"options": {"queue": "other"}}, {"retry": {"max_attempts": 9}}, {"version": 2},
        {"visibility_timeout_ms": 5000}, {"args": [{"args": []}]}, {"timeout": 7},
    ]  # fmt: skip
    decode, encode = job_codec.batch_decoder(), job_codec.NewJobs().encode
    sent = [EnvelopeFactory.create(**one) for one in kinds for _ in range(2)]
    drafts = [decode(jsonio.loads_object(jsonio.dumps(one))) for one in sent]

    jobs = [job for job in enqueue(drafts, Caller("test", request_id="req-1")) if job is not None]

    assert len(jobs) == len(drafts)
    for job in jobs:
        found = orjson.dumps(encode(job))
        assert found == orjson.dumps(job_codec.encode_job(job))
        stored = show(job.id)
        assert jsonio.loads(found) == encoded(stored)
        assert stored.request_id == "req-1"
