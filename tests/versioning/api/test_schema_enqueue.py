"""Validation of arguments, over HTTP. Spec: job-versioning 6.2, contract 30.4, 30.2."""

from typing import Any

import pytest

from jobs.models import Job
from tests.spec import spec
from tests.tenancy.wire import answer, send

pytestmark = pytest.mark.usefixtures("store")

CURRENCY = {
    "type": "array",
    "prefixItems": [{"type": "object", "required": ["currency"]}],
}
BAD = {"type": "invoice.generate", "args": [{"amount": 1}]}


@pytest.fixture(autouse=True)
def _registered(store: None) -> None:
    body = {"args_schema": CURRENCY}
    answer(send("PUT", "admin/schemas/invoice.generate/2.0", body), 201)


@pytest.mark.parametrize(
    "version", [{"version": "2.0"}, {"version": 2}, {"type": "invoice.generate@2.0"}]
)
@spec("VER-6.2-a")
def test_bad_arguments_are_refused_over_the_wire(version: Any) -> None:
    found = answer(send("POST", "jobs", {**BAD, **version}), 422)["error"]

    assert found["code"] == "validation_error"
    assert not found["retryable"]
    assert found["details"]["validation_errors"] == ["/0/currency: required"]
    assert not Job.objects.exists()


@spec("contract 30.4")
def test_other_versions_pass() -> None:
    assert answer(send("POST", "jobs", {**BAD, "version": "1.0"}), 201)
    assert answer(send("POST", "jobs", BAD), 201)


@spec("contract 30.4")
def test_warnings_are_in_the_answer() -> None:
    body = {"schema": CURRENCY}
    answer(send("PUT", "admin/schemas/invoice.generate/3", body), 201)

    found = answer(send("POST", "jobs", {**BAD, "version": 3}), 201)

    assert found["warnings"] == found["job"]["warnings"] == ["/0/currency: required"]
    assert "warnings" not in answer(send("GET", f"jobs/{found['id']}"))


@spec("contract 30.4")
def test_batch_is_refused_with_the_errors_of_each_job() -> None:
    jobs = [{**BAD, "version": "1.0"}, {**BAD, "version": "2.0"}, {**BAD, "version": "2"}]

    found = answer(send("POST", "jobs/batch", {"jobs": jobs}), 422)["error"]

    assert found["details"]["index"] == 1
    assert [one["index"] for one in found["details"]["errors"]] == [1, 2]
    assert found["details"]["errors"][1]["validation_errors"] == ["/0/currency: required"]
    assert not Job.objects.exists()


@spec("contract 30.4")
def test_bulk_stores_what_fits() -> None:
    jobs = [{**BAD, "version": "1.0"}, {**BAD, "version": "2.0"}]

    found = answer(send("POST", "jobs/bulk", {"jobs": jobs}), 207)

    assert [one["status"] for one in found["items"]] == ["created", "failed"]
    assert found["items"][1]["error"]["code"] == "validation_error"


@spec("contract 30.4")
def test_schedules_and_workflows_are_refused() -> None:
    cron = {"name": "bills", "expression": "0 * * * *", **BAD, "version": "2.0"}
    good = {**BAD, "version": "1.0"}
    chain = {"type": "chain", "steps": [good, {**BAD, "version": "2.0"}]}

    assert answer(send("POST", "cron", cron), 422)["error"]["code"] == "validation_error"
    assert answer(send("POST", "workflows", chain), 422)["error"]["code"] == "validation_error"
    assert not Job.objects.exists()


@pytest.mark.parametrize(("versions", "status"), [("2.0", 409), (">=1.0", 200), ("1.0", 200)])
@spec("contract 30.2")
def test_schemas_that_live_workers_declare_are_kept(versions: str, status: int) -> None:
    handlers = [{"type": "invoice.generate", "versions": versions}]
    answer(send("POST", "workers/heartbeat", {"worker_id": "w1", "handlers": handlers}))

    found = answer(send("DELETE", "admin/schemas/invoice.generate/2.0"), status)

    if status == 409:
        assert found["error"]["code"] == "schema_in_use"
        assert answer(send("DELETE", "admin/schemas/invoice.generate/2.0?force=true"))
