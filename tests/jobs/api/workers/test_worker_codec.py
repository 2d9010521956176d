"""Requests and answers of workers, decoded and encoded. Spec: contract 3.4."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.api.workers import worker_codec
from jobs.conf import conf
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import InvalidRequest, ResultTooLarge, Unprocessable
from jobs.queries import Completed, Failed, Requeued
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.services.workers.heartbeat import Answer, Report, Standing
from tests.spec import spec

ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


# --- requests of workers --------------------------------------------------------------------------


@spec("contract 3.4")
def test_fetch_is_decoded() -> None:
    assert worker_codec.decode_fetch({"queues": ["a"]}) == FetchRequest(("a",))
    assert worker_codec.decode_fetch(
        {
            "queues": ["b", "a"], "count": 7.0, "worker_id": "w1", "pool": "p",
            "visibility_timeout_ms": 1000, "unknown": 1,
        },
        tenant="t",
    ) == FetchRequest(("b", "a"), 7, "w1", 1000, "t", "t", "p")  # fmt: skip
    assert worker_codec.decode_fetch({"queues": ["a"], "count": 101}).count == 100


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
        worker_codec.decode_fetch({"queues": ["a"], name: value})

    assert refused.value.details["field"] == name


@pytest.mark.parametrize(("value", "ms"), [(None, 0), (0, 0), (20_000, 20_000), (5.0, 5)])
@spec("contract 3.4")
def test_wait_ms_is_decoded(value: Any, ms: int) -> None:
    assert worker_codec.wait_ms({"wait_ms": value}) == ms


@pytest.mark.parametrize("value", [-1, 20_001, 1.5, True, "5"])
@spec("contract 3.4")
def test_a_malformed_wait_ms_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="wait_ms must be an integer"):
        worker_codec.wait_ms({"wait_ms": value})


@spec("contract 3.4")
def test_ack_is_decoded_and_a_null_result_is_a_result() -> None:
    assert worker_codec.decode_ack({"job_id": "x"}) == Ack("x")
    assert worker_codec.decode_ack({"job_id": "x", "result": None}).result == b"null"
    assert worker_codec.decode_ack({"job_id": "x", "result": [1], "worker_id": "w"}) == Ack(
        "x", b"[1]", "w"
    )


@spec("contract 1.6")
def test_a_result_may_have_its_limit_and_not_a_byte_more() -> None:
    limit = conf().max_result_bytes
    assert worker_codec.decode_ack({"job_id": "x", "result": "r" * (limit - 2)}).result is not None

    with pytest.raises(ResultTooLarge) as refused:
        worker_codec.decode_ack({"job_id": "x", "result": "r" * (limit - 1)})

    assert (refused.value.status, refused.value.details["actual"]) == (413, limit + 1)


@spec("contract 3.4")
def test_nack_is_decoded() -> None:
    failed = worker_codec.decode_nack({"job_id": "x", "error": {"code": "c"}, "worker_id": "w"})
    assert (failed.job_id, failed.requeue, failed.worker_id) == ("x", False, "w")
    assert failed.error is not None
    assert failed.error["code"] == "c"
    assert worker_codec.decode_nack({"job_id": "x", "requeue": True}) == Nack(
        "x", None, requeue=True
    )
    assert (
        worker_codec.decode_nack({"job_id": "x", "requeue": True, "error": "ignored"}).error is None
    )


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
        worker_codec.decode_nack(body)

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
    found = worker_codec.decode_heartbeat({"worker_id": "w", **body})

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
    assert worker_codec.decode_heartbeat({"worker_id": "w", "state": state}).standing is standing


@spec("contract 3.4")
def test_what_a_worker_says_of_itself_is_decoded() -> None:
    found = worker_codec.decode_heartbeat(
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
        worker_codec.decode_heartbeat({"worker_id": "w", name: value})

    assert refused.value.details["field"] in {name, "time"}


# --- answers --------------------------------------------------------------------------------------


def test_d16_the_answer_to_ack_has_both_names_of_the_id() -> None:
    row = Completed(ID, "q", "t", "_default", 2, NOON)

    assert worker_codec.encode_ack(row) == {
        "acknowledged": True, "id": ID, "job_id": ID, "state": "completed", "attempt": 2,
        "completed_at": "2026-05-04T12:00:00Z",
    }  # fmt: skip


@spec("contract 3.4")
def test_the_answer_to_nack_has_what_the_outcome_has() -> None:
    shared = {"id": ID, "job_id": ID, "attempt": 2, "max_attempts": 3}
    waits = Failed(ID, 5, 2, 3, NOON, 1871, None, None, "q", "t", "_default")
    ends = Failed(ID, 8, 2, 3, None, None, NOON, True, "q", "t", "_default")

    assert worker_codec.encode_nack(Requeued(ID, 2, 3)) == {**shared, "state": "available"}
    assert worker_codec.encode_nack(waits) == {
        **shared, "state": "retryable", "next_attempt_at": "2026-05-04T12:00:00Z",
        "retry_delay_ms": 1871,
    }  # fmt: skip
    assert worker_codec.encode_nack(ends) == {
        **shared, "state": "discarded", "discarded_at": "2026-05-04T12:00:00Z",
        "completed_at": "2026-05-04T12:00:00Z", "dead_letter": True,
    }  # fmt: skip


@pytest.mark.parametrize("standing", Standing)
@spec("GS-10")
def test_the_answer_to_a_heartbeat_has_one_of_three_states(standing: Standing) -> None:
    found = worker_codec.encode_heartbeat(Answer(standing, [ID], [], NOON))

    assert found == {
        "state": standing.name.lower(), "jobs_extended": [ID], "cancelled_jobs": [],
        "server_time": "2026-05-04T12:00:00Z", "acknowledged": True,
    }  # fmt: skip
    assert found["state"] in {"running", "quiet", "terminate"}
