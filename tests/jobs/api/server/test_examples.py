"""Each operation of the API description has an example, which a server accepts."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import orjson
import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from attention.api.examples import FINDING
from attention.models import Finding
from federation.api.examples import FEDERATION_ID
from federation.domain.region import Region
from federation.services.registry.configure import delete_region, put_region
from jobs.api.examples import ACTIVE, AVAILABLE, COMPLETED, DISCARDED, PENDING, WORKER
from jobs.api.guide import SECTIONS
from jobs.api.server.docs import document
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.caller import SYSTEM
from jobs.domain.errors import OJSError
from jobs.domain.states import State
from jobs.models import ConfigChange
from jobs.services.upkeep.reset import clear_caches
from tests.factories import JobFactory
from tests.federation.replication.lost import federate, lost, set_status
from tests.federation.replication.rig import LOCAL
from tests.tenancy.wire import answer, put, send
from tests.workflows.flows import chain, created, job
from webhooks.models import Delivery, Subscription
from workflows.models import Step, Workflow

DOCUMENT: dict[str, Any] = json.loads(document())
STATES = {
    COMPLETED: State.COMPLETED, DISCARDED: State.DISCARDED, ACTIVE: State.ACTIVE,
    PENDING: State.PENDING, AVAILABLE: State.AVAILABLE,
}  # fmt: skip
PARTS = 12  # so that the worker of the examples is not yet silent for too long
FLOW = "01a21650-0000-7000-8000-0000000000f1"


def operations() -> Iterator[Any]:
    """Yield method, path and description of each operation."""
    for path, item in DOCUMENT["paths"].items():
        for method, one in item.items():
            yield pytest.param(method, path, one, id=one["operationId"])


@pytest.fixture
def things(store: None) -> dict[str, str]:
    """Store the objects that the examples name; return the numbers that the server assigned."""
    put("acme", status=201)
    for job_id, state in STATES.items():
        JobFactory.create(
            id=job_id, type="mail.send", queue="mail", state=state, worker_id=WORKER,
            rate_limit={"key": "stripe", "concurrency": 50},
            retry={"on_exhaustion": "dead_letter"},
        )  # fmt: skip
    answer(send("POST", "workers/register", {"worker_id": WORKER}))
    answer(send("PUT", f"jobs/{ACTIVE}/progress", {"progress": 0.1}))
    steps = {"__steps": {"label": {"state": "done", "result": "label-7"}}}
    answer(send("PUT", f"jobs/{AVAILABLE}/checkpoint", {"state": steps}))
    schedule = {"name": "nightly-report", "expression": "0 3 * * *", "type": "report.render"}
    answer(send("POST", "cron", schedule), 201)
    answer(send("PUT", "admin/pools/mailers", {"queues": ["mail"]}), 201)
    rules = [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}]
    plan = {"steps": [10, 50, 100], "bake_time": "PT30M"}
    answer(send("PUT", "admin/routing/invoice.render", {"rules": rules, "plan": plan}), 201)
    for version in ("1.0", "1.1"):
        schema = {"args_schema": {"type": "array"}}
        answer(send("PUT", f"admin/schemas/invoice.render/{version}", schema), 201)
    for make in (_runbook, _workflow, _webhook):
        make()
    federate(mode="full")
    set_status(LOCAL, "healthy")
    lost(federation_id=FEDERATION_ID)
    put_region(Region("sa", "http://127.0.0.1:9", allow_insecure=True))
    lost(origin_region="sa")
    delete_region("sa", SYSTEM)
    answer(send("PUT", f"jobs/{ACTIVE}/checkpoint", {"state": {"page": 4}}))
    Finding.objects.create(
        id=FINDING["finding_id"], rule="queue_paused", subject="mail", severity=1,
        since=timezone.now(), jobs=1, tenants=1, facts={},
    )  # fmt: skip
    other = JobFactory.create(queue="other")
    cancelled = send("POST", f"admin/jobs/{other.id}/cancel", {})
    change = ConfigChange.objects.latest("id").pk
    return {"number": str(cancelled["X-OJS-Operation"]), "change": str(change)}


def _runbook() -> None:
    answer(send("PUT", "admin/attention/notes/queue/mail", {"text": "Call the mail team."}), 201)
    procedure = {"about": "queue", "subject": "mail", "action": "retry",
                 "filter": {"queue": "mail"}}  # fmt: skip
    answer(send("PUT", "admin/attention/procedures/retry-mail", procedure), 201)


def _workflow() -> None:
    made = created(chain(job(), job()))
    Workflow.objects.filter(id=made).update(id=FLOW, root_id=FLOW)
    Step.objects.filter(workflow_id=made).update(workflow_id=FLOW)


def _webhook() -> None:
    hook = {"url": "https://example.org/hooks", "events": ["job.*"]}
    made = answer(send("POST", "webhooks/subscriptions", hook), 201)
    one = Subscription.objects.get(id=made.get("subscription", made)["id"])
    name = "sub_01a21650-0000-7000-8000-0000000000a1"
    Subscription.objects.filter(id=one.id).update(id=name)
    Delivery.objects.create(
        id="del_01a21650-0000-7000-8000-0000000000a2", subscription_id=name, tenant="_default",
        event_id="evt_1", event_type="job.completed", body=b"{}", status="dead",
    )  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_examples_are_accepted(part: int, things: dict[str, str]) -> None:
    """Each change is taken back, so that the next example finds what it names."""
    for item in list(operations())[part::PARTS]:
        method, path, one = item.values
        with transaction.atomic():
            assert_accepted(str(method), str(path), one, things)
            transaction.set_rollback(True)
        clear_caches()


def assert_accepted(method: str, path: str, one: dict[str, Any], things: dict[str, str]) -> None:
    """Check that the server accepts the example of an operation."""
    given = {
        place: {p["name"]: p.get("example") for p in one["parameters"] if p.get("in") == place}
        for place in ("path", "query")
    }
    assert None not in given["path"].values()
    content = one.get("requestBody", {}).get("content", {})
    sent = [orjson.dumps(shown["example"]) for shown in content.values() if "example" in shown]
    query = {name: value for name, value in given["query"].items() if value is not None}

    answered = Client().generic(
        method.upper(),
        path.format(**{**given["path"], **things}),
        sent[0] if sent else b"",
        content_type=OJS_TYPE,
        query_params=query,
    )

    if one["operationId"].startswith("stream"):  # other servers refuse them; see below
        assert answered.json()["error"]["code"] == "realtime_unavailable"
        return
    assert str(answered.status_code) in one["responses"], one["operationId"]
    assert answered.status_code < 400 or one["operationId"] in REFUSED, answered.content
    answered.close()


@pytest.mark.usefixtures("things")
@pytest.mark.xdist_group("server")
def test_streams_of_the_examples_are_served(server: str) -> None:
    for method, path, one in (given.values for given in operations()):
        if str(one["operationId"]).startswith("stream"):
            named = {
                p["name"]: p.get("example") for p in one["parameters"] if p.get("in") == "path"
            }
            address = f"{server}{str(path).format(**named)}"
            with urlopen(Request(address, method=str(method).upper()), timeout=20) as answered:  # noqa: S310 - our own server
                assert answered.status == 200
                assert "text/event-stream" in answered.headers["Content-Type"]


# 404 without the setting that permits it; 409 since the example has no preview
REFUSED = {"reset", "restoreConfigVersion"}


@pytest.mark.parametrize(("method", "path", "one"), list(operations()))
def test_operation_shows_its_example_as_a_command(
    method: str, path: str, one: dict[str, Any]
) -> None:
    body = one.get("requestBody", {})

    assert "```sh\ncurl" in one["description"]
    assert "{" not in one["description"].partition("```sh")[2].partition(" -d ")[0]
    if body:
        assert all("example" in shown for shown in body["content"].values())


def test_sections_are_in_order_of_use_with_probes_last() -> None:
    names = [one["name"] for one in DOCUMENT["tags"]]

    assert names == [one.name for one in SECTIONS]
    assert names[:3] == ["Jobs", "Workers", "Queues"]
    assert names[-1] == "Probes"
    assert all(one["description"] for one in DOCUMENT["tags"])
    assert next(iter(DOCUMENT["paths"])) == "/ojs/v1/jobs"


def test_description_begins_with_the_api_keys_and_first_calls() -> None:
    text = DOCUMENT["info"]["description"]

    assert text.index("enqueues jobs") < text.index("### Keys") < text.index("### First calls")


def test_each_error_is_listed_with_its_cure() -> None:
    shown = {name: one["description"] for name, one in DOCUMENT["components"]["responses"].items()}

    for problem in _classes(OJSError):
        if hasattr(problem, "code"):
            assert f"- `{problem.code}`: " in shown[f"Error{problem.status}"]


def _classes(base: type[OJSError]) -> Iterator[type[OJSError]]:
    yield base
    for one in base.__subclasses__():
        yield from _classes(one)
