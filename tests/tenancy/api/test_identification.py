"""The tenant of a job. Spec: MT 5, contract 21.3, 21.4."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from jobs.api.document import Generator
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.keys import SCOPES
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import ApiKey, Job
from jobs.services.access import api_keys
from jobs.services.upkeep.reset import clear_caches
from scheduling.models import CronEntry
from tenancy.models import Tenant
from tests.factories import JobFactory
from tests.spec import spec
from tests.tenancy.served.things import nothings
from tests.tenancy.wire import answer, event_data, push, send
from workflows.models import Workflow

pytestmark = pytest.mark.usefixtures("store")

JOB = {"type": "tests.noop", "args": []}
BAD_IDS = ["", "-a", "a b", "é", "x" * 256, "_other", "_mine", 7, ["a"]]


def tenants() -> list[str]:
    """Return the tenants of the stored jobs."""
    return list(Job.objects.order_by("id").values_list("tenant", flat=True))


@pytest.fixture
def rules(settings: Any) -> Any:
    """Return a function that changes settings of tenancy for a test."""

    def change(**chosen: Any) -> None:
        settings.OJS_TENANCY = {**settings.OJS_TENANCY, **chosen}

    return change


@spec("MT-5.1-a")
def test_tenant_lives_in_meta() -> None:
    job = push("acme", meta={"more": 1})

    assert job["meta"] == {"more": 1, "tenant_id": "acme"}
    assert answer(send("GET", f"jobs/{job['id']}"))["job"]["meta"] == job["meta"]
    assert tenants() == ["acme"]


@spec("MT-5.1-b")
def test_job_without_a_tenant_is_refused_where_it_must_have_one(rules: Any) -> None:
    rules(MISSING="reject")

    error = push(status=422)

    assert (error["code"], error["details"]["field"]) == ("tenant_required", "meta.tenant_id")
    assert tenants() == []
    push("acme")


@spec("D-MT-1")
def test_schedule_without_a_tenant_is_refused_where_its_jobs_must_have_one(
    rules: Any,
) -> None:
    cron = {"name": "nightly", "cron": "0 3 * * *", "type": "tests.noop", "args": []}
    before = {**cron, "name": "before"}
    answer(send("POST", "cron", before), 201)
    rules(MISSING="reject")

    error = answer(send("POST", "cron", cron), 422)["error"]

    assert (error["code"], error["details"]["field"]) == ("tenant_required", "meta.tenant_id")
    answer(send("GET", "cron/nightly"), 404)
    answer(send("PATCH", "cron/before", {"cron": "0 4 * * *"}), 422)
    answer(send("POST", "cron/before/pause", {}))
    answer(send("POST", "cron/before/resume", {}), 422)
    answer(send("POST", "cron", {**cron, "meta": {"tenant_id": "acme"}}), 201)
    answer(send("POST", "cron", {**cron, "name": "mine"}, X_OJS_Tenant="acme"), 201)
    answer(send("PATCH", "cron/mine?tenant=acme", {"cron": "0 4 * * *"}))
    answer(send("POST", "cron/mine/trigger", {}, X_OJS_Tenant="acme"), 201)
    assert tenants() == ["acme"]


@pytest.mark.parametrize("bad", BAD_IDS)
@spec("MT-5.2-a")
def test_what_is_no_tenant_id_is_refused(bad: Any) -> None:
    error = answer(send("POST", "jobs", {**JOB, "meta": {"tenant_id": bad}}), 400)["error"]

    assert (error["code"], error["details"]["field"]) == ("invalid_request", "meta.tenant_id")
    assert tenants() == []


@pytest.mark.parametrize("bad", ["", "-a", "a b", "x" * 256, "_other"])
@pytest.mark.parametrize("header", ["X-OJS-Tenant", "X-OJS-Tenant-ID"])
@spec("MT-5.2-a")
def test_what_is_no_tenant_id_is_refused_in_a_header(header: str, bad: str) -> None:
    error = answer(send("GET", "jobs", **{header.replace("-", "_"): bad}), 400)["error"]

    assert (error["code"], error["details"]["field"]) == ("invalid_request", header)


@pytest.mark.parametrize("good", ["a:b.c_d-1", "7", "x" * 255, "_default"])
@spec("MT-5.2-a")
def test_what_the_pattern_allows_is_taken(good: str) -> None:
    push(good)

    assert tenants() == [good]


@spec("MT-5.2-b")
def test_each_source_alone_names_the_tenant(new_key: Any) -> None:
    anybody, bound = new_key(*SCOPES), new_key(*SCOPES, tenant="from-key")
    sent = {**JOB, "meta": {"tenant_id": "from-meta"}}

    answer(send("POST", "jobs", sent, **anybody), 201)
    answer(send("POST", "jobs", JOB, X_OJS_Tenant="from-header", **anybody), 201)
    answer(send("POST", "jobs", JOB, **bound), 201)

    assert sorted(tenants()) == ["from-header", "from-key", "from-meta"]
    stamped = Job.objects.values_list("meta__tenant_id", flat=True)
    assert sorted(stamped) == sorted(tenants())


@spec("MT-5.2-b")
def test_source_that_is_not_read_names_no_tenant(rules: Any) -> None:
    rules(SOURCES=("key", "meta"))
    answer(send("POST", "jobs", JOB, X_OJS_Tenant="acme"), 201)
    rules(SOURCES=("key", "header"))
    error = push("acme", status=400)

    assert error["code"] == "tenant_conflict"
    assert tenants() == ["_default"]


@spec("MT-5.3-a")
def test_header_names_the_tenant() -> None:
    job = answer(send("POST", "jobs", JOB, X_OJS_Tenant="acme"), 201)["job"]

    assert job["meta"]["tenant_id"] == "acme"
    assert tenants() == ["acme"]


@spec("MT-5.3-b")
def test_header_is_put_into_every_job_of_a_batch() -> None:
    sent = {"jobs": [JOB, {**JOB, "meta": {"tenant_id": "acme", "n": 1}}, JOB]}

    found = answer(send("POST", "jobs/batch", sent, X_OJS_Tenant="acme"), 201)

    assert [job["meta"]["tenant_id"] for job in found["jobs"]] == ["acme"] * 3
    assert found["jobs"][1]["meta"]["n"] == 1


@spec("MT-5.3-c")
def test_header_and_body_that_differ_are_refused() -> None:
    sent = {**JOB, "meta": {"tenant_id": "beta"}}

    error = answer(send("POST", "jobs", sent, X_OJS_Tenant="acme"), 400)["error"]
    batch = {"jobs": [JOB, sent]}
    of_batch = answer(send("POST", "jobs/batch", batch, X_OJS_Tenant="acme"), 400)["error"]

    assert error["code"] == of_batch["code"] == "tenant_conflict"
    assert of_batch["details"]["index"] == 1
    assert tenants() == []
    assert not Tenant.objects.exists()


@spec("MT-15.3-a")
def test_job_without_a_tenant_is_the_default_ones_and_its_meta_stays(rules: Any) -> None:
    plain = push(meta={"a": 1})
    rules(DEFAULT="house")
    housed = push()
    rules(DEFAULT="house", STAMP_DEFAULT=True)
    stamped = push()

    assert (plain["meta"], housed["meta"]) == ({"a": 1}, {})
    assert stamped["meta"] == {"tenant_id": "house"}
    assert tenants() == ["_default", "house", "house"]


@spec("D-MT-4")
def test_switched_off_nobody_names_a_tenant(rules: Any) -> None:
    rules(ENABLED=False)

    job = push("not an id")
    answer(send("POST", "jobs", JOB, X_OJS_Tenant="-"), 201)

    assert job["meta"] == {"tenant_id": "not an id"}
    assert tenants() == ["_default"] * 2
    assert len(answer(send("GET", "jobs", X_OJS_Tenant="acme"))["jobs"]) == 2


@spec("D-MT-5")
def test_unknown_tenant_is_made_once_and_told() -> None:
    push("acme")
    clear_caches()
    push("acme")

    assert list(Tenant.objects.values_list("id", "source")) == [("acme", "auto")]
    assert event_data(Kind.TENANT_CREATED) == [{"tenant_id": "acme", "source": "auto"}]


@spec("D-MT-5")
def test_tenant_whose_job_was_not_stored_is_not_made() -> None:
    job = push()

    answer(send("POST", "jobs", {**JOB, "id": job["id"], "meta": {"tenant_id": "acme"}}), 409)

    assert not Tenant.objects.exists()


@spec("D-MT-5")
def test_unknown_tenant_is_refused_where_they_are_configured(rules: Any) -> None:
    Tenant.objects.create(id="acme")
    rules(UNKNOWN="reject")

    error = push("beta", status=403)

    assert (error["code"], error["details"]["tenant_id"]) == ("unknown_tenant", "beta")
    push("acme")
    push()
    assert sorted(tenants()) == ["_default", "acme"]


def described() -> Any:
    """Return the OpenAPI document under the current settings."""
    return Generator().get_schema()  # type: ignore[no-untyped-call]  # no types


@spec("D-MT-10")
def test_document_names_the_headers_where_they_are_read() -> None:
    told = described()
    documented, reading = set(), set()

    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            named = {one["$ref"] for one in operation["parameters"] if "$ref" in one}
            both = {f"#/components/parameters/{one}" for one in ("Tenant", "TenantID")}
            assert named & both in (set(), both)
            if named & both:
                documented.add((method, path))
            filled = re.sub(r"{(\w+)}", lambda name: nothings().get(name[1], "x"), path)
            headers = {"X-OJS-Tenant": "-"}
            found = Client().generic(method.upper(), filled, b"{", OJS_TYPE, headers=headers)
            if found.status_code == 400 and b'"X-OJS-Tenant"' in found.content:
                reading.add((method, path))

    assert documented == reading
    assert ("post", "/ojs/v1/jobs") in documented
    assert ("get", "/ojs/v1/health") not in documented
    # documented, because it refuses a tenant in the header
    assert ("get", "/ojs/v1/admin/pools") in documented
    assert told["components"]["parameters"]["TenantID"]["name"] == "X-OJS-Tenant-ID"


@pytest.mark.parametrize("chosen", [{"ENABLED": False}, {"SOURCES": ("key", "meta")}])
@spec("D-MT-4")
def test_document_names_no_tenant_where_nobody_reads_the_headers(
    rules: Any, chosen: dict[str, Any]
) -> None:
    rules(**chosen)

    assert "X-OJS-Tenant" not in {
        one["name"] for one in described()["components"]["parameters"].values()
    }
    assert "parameters/Tenant" not in str(described()["paths"])


@spec("D-MT-10")
def test_other_header_is_an_alias_and_must_not_differ() -> None:
    answer(send("POST", "jobs", JOB, X_OJS_Tenant_ID="acme"), 201)
    both = {"X_OJS_Tenant": "acme", "X_OJS_Tenant_ID": "acme"}
    answer(send("POST", "jobs", JOB, **both), 201)

    error = answer(send("POST", "jobs", JOB, **{**both, "X_OJS_Tenant_ID": "beta"}), 400)["error"]

    assert error["code"] == "tenant_conflict"
    assert tenants() == ["acme", "acme"]


@spec("D-MT-11")
def test_key_bound_to_a_tenant_constrains_header_and_body(new_key: Any) -> None:
    acme = new_key(*SCOPES, tenant="acme")
    sent = {**JOB, "meta": {"tenant_id": "beta"}}

    for response in (
        send("POST", "jobs", sent, **acme),
        send("POST", "jobs", JOB, X_OJS_Tenant="beta", **acme),
        send("GET", "jobs", X_OJS_Tenant="beta", **acme),
    ):
        assert answer(response, 403)["error"]["code"] == "tenant_mismatch"
    answer(send("POST", "jobs", JOB, X_OJS_Tenant="acme", **acme), 201)
    assert tenants() == ["acme"]


@spec("contract 21.4")
def test_request_with_a_header_sees_and_touches_that_tenant_alone() -> None:
    mine, others = push("acme", queue="q"), push("beta", queue="q")
    acme = {"X_OJS_Tenant": "acme"}

    shown = [job["id"] for job in answer(send("GET", "jobs", **acme))["jobs"]]
    counts = answer(send("GET", "queues/q", **acme))["queue"]
    for method, path in (
        ("GET", f"jobs/{others['id']}"), ("DELETE", f"jobs/{others['id']}"),
        ("GET", f"jobs/{others['id']}/result"),
    ):  # fmt: skip
        answer(send(method, path, {}, **acme), 404)
    fetched = answer(send("POST", "workers/fetch", {"queues": ["q"], "count": 9}, **acme))["jobs"]

    assert shown == [mine["id"]] == [job["id"] for job in fetched]
    assert (counts["name"], counts["available"]) == ("q", 1)
    ack = {"job_id": mine["id"]}
    answer(send("POST", "workers/ack", ack, X_OJS_Tenant="beta"), 404)
    answer(send("POST", "workers/ack", ack, **acme))


@spec("MT-15.2-a")
def test_jobs_of_a_workflow_are_of_the_tenant_in_the_header() -> None:
    steps = [{"type": "tests.noop", "args": []}] * 2
    sent = {"type": "chain", "steps": steps}

    answer(send("POST", "workflows", sent, X_OJS_Tenant="acme"), 201)

    assert tenants() == ["acme"]
    assert list(Job.objects.values_list("meta__tenant_id", flat=True)) == ["acme"]


# --- job templates of a key that is bound to a tenant ---------------------------------------------

OTHERS = {**JOB, "meta": {"tenant_id": "south"}}
CRON = {"name": "c", "cron": "@daily", **JOB}
# requests that take the members of a job: (method, path, body); workflows have tests below
TEMPLATES = [
    ("POST", "jobs", OTHERS),
    ("POST", "jobs/batch", {"jobs": [JOB, OTHERS]}),
    ("POST", "cron", {**CRON, **OTHERS}),
    ("POST", "cron", {"name": "c", "cron": "@daily", "job_template": OTHERS}),
    ("PATCH", "cron/north-cron", {"meta": {"tenant_id": "south"}}),
]


@pytest.fixture
def north(settings: Any) -> Iterator[dict[str, str]]:
    """Return the headers of a key that is bound to a tenant."""
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()
    _, text = api_keys.create(api_keys.NewKey("north", tuple(SCOPES), tenant="north"))
    yield {"Authorization": f"Bearer {text}"}
    ApiKey.objects.all().delete()
    CronEntry.objects.all().delete()
    api_keys.cache.clear()


@pytest.mark.parametrize(("method", "path", "body"), TEMPLATES)
@spec("D-MT-11")
def test_a_bound_key_names_no_other_tenant_wherever_a_job_is_described(
    north: dict[str, str], method: str, path: str, body: dict[str, Any]
) -> None:
    made = send("POST", "cron", {**CRON, "name": "north-cron"}, **north)
    assert made.status_code == 201

    response = send(method, path, body, **north)

    error = answer(response, 403)["error"]
    assert error["code"] == "tenant_mismatch", error
    assert not Job.objects.exists()
    (entry,) = CronEntry.objects.all()
    assert entry.template["meta"] == {}


@spec("D-MT-11")
def test_in_a_batch_by_item_each_job_is_judged(north: dict[str, str]) -> None:
    response = send("POST", "jobs/bulk", {"jobs": [OTHERS]}, **north)

    assert response.status_code in {403, 422}
    assert b"tenant_mismatch" in response.content
    assert not Job.objects.exists()


@pytest.mark.parametrize("path", ["dead-letter/{}/retry", "admin/jobs/{}/retry"])
@spec("D-MT-11")
def test_a_retry_keeps_the_tenant_of_its_job(path: str) -> None:
    dead = JobFactory.create(
        state=State.DISCARDED, meta={"tenant_id": "north"}, tenant="north",
        retry={"on_exhaustion": "dead_letter"},
    )  # fmt: skip

    body = {"override": {"meta": {"tenant_id": "south"}}}
    error = answer(send("POST", path.format(dead.id), body), 403)["error"]
    assert (error["code"], error["details"]["field"]) == (
        "tenant_mismatch", "override.meta.tenant_id",
    )  # fmt: skip

    answer(send("POST", path.format(dead.id), {"override": {"meta": {"a": 1}}}))
    meta = answer(send("GET", f"jobs/{dead.id}"))["job"]["meta"]
    assert (meta["a"], meta["tenant_id"]) == (1, "north")


# --- workflows ------------------------------------------------------------------------------------

STEP = {"type": "tests.noop", "args": []}


def flow(status: int = 201, /, **members: Any) -> Any:
    """Create a workflow of two steps and return the answer."""
    body = {"type": "chain", "steps": [STEP, STEP], **members}
    return answer(send("POST", "workflows", body), status)


@spec("MT-15.2-a")
def test_a_workflow_names_its_tenant_as_a_job_does() -> None:
    made = flow(meta={"tenant_id": "blue"})

    (job,) = Job.objects.all()
    assert (job.tenant, job.meta["tenant_id"]) == ("blue", "blue")
    assert Workflow.objects.get(id=made["id"]).tenant == "blue"


@spec("MT-15.2-b")
def test_a_workflow_and_its_steps_name_one_tenant() -> None:
    step = {**STEP, "meta": {"tenant_id": "green"}}

    error = flow(422, meta={"tenant_id": "blue"}, steps=[step])["error"]

    assert error["code"] == "cross_tenant_workflow"
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"tenant_id": "blue"}, "$.tenant_id"),
        ({"tenant": "blue"}, "$.tenant"),
        ({"meta": ["blue"]}, "$.meta"),
        ({"meta": {"tenant_id": 7}}, "$.meta.tenant_id"),
        (
            {"steps": [{"type": "group", "jobs": [STEP], "tenant_id": "blue"}]},
            "$.steps[0].tenant_id",
        ),
    ],
)
def test_a_tenant_that_a_workflow_names_elsewhere_is_refused(members: Any, path: str) -> None:
    details = flow(400, **members)["error"]["details"]

    assert [one["path"] for one in details["validation_errors"]] == [path]
