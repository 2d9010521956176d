"""Endpoints under /ojs/v1/workflows. Spec: contract 8.5, 8.6, 21, 24.5, 24.6, 29, 31."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.wire.ids import new_id
from jobs.services.outcome.progress import Progress, report
from tests.effort import examples
from tests.jobs.api.refusals import DOCUMENT, assert_refused, validator
from tests.spec import spec
from tests.workflows.flows import (
    batch,
    by_type,
    chain,
    claimed,
    complete,
    created,
    envelope,
    fail,
    graph,
    group,
    job,
    run,
)
from workflows.models import Workflow
from workflows.services import show

URL = "/ojs/v1/workflows"
ANSWER = validator({"allOf": [{"$ref": "#/components/schemas/Workflow"}]})


def post(api: Client, body: object, path: str = URL, **headers: str) -> Any:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return api.post(path, raw, content_type=OJS_TYPE, headers=headers)


def checked(answer: Any, status: int = 200) -> dict[str, Any]:
    """Check the shape of a workflow answer and return it."""
    assert answer.status_code == status, answer.content[:500]
    found: dict[str, Any] = answer.json()
    wrapped = found.pop("workflow")
    assert wrapped == found
    ANSWER.validate(found)
    return found


# --- 8.5 the workflow object ----------------------------------------------------------------------


@spec("contract 8.5")
def test_create_answers_the_whole_workflow(api: Client) -> None:
    answer = post(api, chain(job("a", id="first"), job("b"), name="two"))

    shown = checked(answer, 201)
    assert answer["Location"] == f"{URL}/{shown['id']}"
    assert (shown["type"], shown["name"], shown["state"]) == ("chain", "two", "running")
    assert (shown["steps_total"], shown["steps_completed"], shown["steps_failed"]) == (2, 0, 0)
    first, second = shown["steps"]
    assert (first["id"], first["index"], first["type"], first["state"]) == (
        "first", 0, "a", "pending",
    )  # fmt: skip
    assert (second["depends_on"], second["job_id"], second["state"]) == (["first"], None, "waiting")
    assert shown["metadata"] == {
        "created_at": shown["created_at"], "job_count": 2, "completed_count": 0, "failed_count": 0,
    }  # fmt: skip
    assert "jobs_total" not in shown


@spec("contract 8.5")
def test_groups_and_batches_count_jobs(api: Client) -> None:
    shown = checked(post(api, batch(job("a"), on_success=job("b"))), 201)

    assert (shown["jobs_total"], shown["jobs_completed"], shown["jobs_failed"]) == (1, 0, 0)
    assert shown["name"] == ""
    assert shown["callbacks"] == {
        "on_success": {"id": "on_success", "type": "b", "state": "waiting", "job_id": None}
    }


@spec("contract 8.5")
def test_a_finished_workflow_has_results_and_times(api: Client) -> None:
    flow = created(chain(job(), job()))
    complete(*claimed(), result={"ok": True})
    run()

    shown = checked(api.get(f"{URL}/{flow}"))

    assert shown["steps"][0]["result"] == {"ok": True}
    assert "result" not in shown["steps"][1]
    assert shown["started_at"] == shown["steps"][0]["started_at"]
    assert shown["completed_at"] == shown["metadata"]["completed_at"]
    assert shown["metadata"]["completed_count"] == 2
    assert "errors" not in shown


@spec("contract 8.5")
def test_a_failed_workflow_tells_why(api: Client) -> None:
    flow = created(chain(job(), job()))
    (one,) = claimed()
    fail(one)

    shown = checked(api.get(f"{URL}/{flow}"))

    assert (shown["failed_step_index"], shown["failed_job_ids"]) == (0, [one.id])
    assert shown["errors"] == [
        {"job_id": one.id, "step_id": "step-0", "code": "handler_error", "type": "handler_error",
         "message": "it broke", "attempt": 1}
    ]  # fmt: skip


@spec("contract 8.5")
def test_nested_workflows_are_part_of_the_answer(api: Client) -> None:
    flow = created(chain(job("a"), group(job("b"), chain(job("c")))))

    shown = checked(api.get(f"{URL}/{flow}"))

    inner = shown["steps"][1]
    assert [step["type"] for step in inner["steps"]] == ["b", "chain"]
    assert inner["steps"][1]["steps"][0]["type"] == "c"
    own = checked(api.get(f"{URL}/{inner['workflow_id']}"))
    assert (own["root_workflow_id"], own["parent_workflow_id"]) == (flow, flow)
    assert own["steps"] == inner["steps"]


@spec("contract 8.5")
def test_a_graph_arrives_as_it_was(api: Client) -> None:
    shown = checked(post(api, graph(a="", b="", c="b a") | {"name": "g"}), 201)

    assert shown["type"] == "dag"
    assert shown["steps"][2]["depends_on"] == ["b", "a"]


@spec("contract 8.5")
def test_unknown_workflows_are_not_found(api: Client) -> None:
    for path in (f"{URL}/{new_id()}", f"{URL}/x", f"{URL}/{new_id()}/progress"):
        error = assert_refused(api.get(path), 404)
        assert error["details"]["resource_type"] == "workflow"
    assert_refused(api.delete(f"{URL}/{new_id()}"), 404)


# --- 8.6 cancel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["delete", "post"])
@spec("contract 8.6")
def test_cancel_answers_what_it_did(api: Client, way: str) -> None:
    flow = created(chain(job(), job(), job()))
    complete(*claimed())

    if way == "delete":
        shown = checked(api.delete(f"{URL}/{flow}"))
    else:
        shown = checked(post(api, {}, f"{URL}/{flow}/cancel"))

    assert (shown["state"], shown["id"]) == ("cancelled", flow)
    assert (shown["steps_cancelled"], shown["steps_already_completed"]) == (2, 1)
    assert (shown["cancelled_steps"], shown["step_count"]) == (2, 3)
    assert shown["cancelled_at"]
    error = assert_refused(api.delete(f"{URL}/{flow}"), 409)
    assert (error["code"], error["details"]["current_state"]) == ("conflict", "cancelled")


# --- lists ----------------------------------------------------------------------------------------


@spec("contract 24.5")
def test_the_list_is_newest_first_by_state(api: Client) -> None:
    done = created(chain(job(), name="done"))
    run()
    wide = created(group(*[job() for _ in range(70)], name="wide"))
    complete(*claimed(count=10))
    created(chain(group(job("x")), name="nested"))

    shown = api.get(URL).json()
    running = api.get(URL, {"state": "running"}).json()

    assert [item["name"] for item in shown["workflows"]] == ["nested", "wide", "done"]
    assert shown["items"] == shown["workflows"]
    assert (shown["total"], shown["pagination"]["total"]) == (3, 3)
    assert [item["name"] for item in running["workflows"]] == ["nested", "wide"]
    assert running == api.get(URL, {"state": "active"}).json()
    (item,) = api.get(URL, {"state": "completed"}).json()["workflows"]
    assert (item["id"], item["steps_total"], item["steps_completed"]) == (done, 1, 1)
    assert api.get(URL, {"state": "pending"}).json()["workflows"] == []
    counted = {
        item["id"]: item["jobs_completed"] for item in running["items"] if "jobs_total" in item
    }
    assert counted == {wide: 10}


@spec("contract 3.1")
def test_the_list_is_paged_by_page_offset_and_cursor(api: Client) -> None:
    names = [f"w{n}" for n in range(7)]
    for name in names:
        created(chain(job(), name=name))

    def listed(**query: int) -> list[str]:
        return [item["name"] for item in api.get(URL, query).json()["items"]]

    assert listed(limit=3) == ["w6", "w5", "w4"]
    assert listed(limit=3, page=2) == listed(limit=3, offset=3) == ["w3", "w2", "w1"]
    first = api.get(URL, {"limit": 3}).json()["pagination"]
    assert (first["has_more"], first["total"]) == (True, 7)
    created(chain(job(), name="new"))
    second = api.get(URL, {"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [item["name"] for item in second["items"]] == ["w3", "w2", "w1"]
    last = api.get(URL, {"limit": 3, "cursor": second["pagination"]["next_cursor"]}).json()
    assert [item["name"] for item in last["items"]] == ["w0"]
    assert (last["pagination"]["has_more"], "next_cursor" in last["pagination"]) == (False, False)


@spec("contract 3.1")
def test_pages_go_on_beyond_what_is_counted(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "MOST", 3)
    for number in range(8):
        created(chain(job(), name=f"w{number}"))

    names: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    for _ in range(8):
        answer = api.get(URL, query).json()
        names += [item["name"] for item in answer["items"]]
        cursor = answer["pagination"].get("next_cursor")
        if not cursor:
            break
        query["cursor"] = cursor

    assert names == [f"w{number}" for number in reversed(range(8))]


@pytest.mark.parametrize(
    "query",
    [{"state": "x"}, {"state": "RUNNING"}, {"cursor": "x"}, {"cursor": "aWQ6eA"},
     {"limit": "0"}, {"page": "-1"}, {"offset": "x"}, {"cursor": "é"}, {"state": "\0"}],
)  # fmt: skip
@spec("contract 3.1")
def test_a_bad_query_is_refused(api: Client, query: dict[str, str]) -> None:
    assert_refused(api.get(URL, query), 400)


# --- 29 progress ----------------------------------------------------------------------------------


@spec("contract 29")
def test_progress_counts_what_is_done_and_what_is_reported(api: Client) -> None:
    flow = created(chain(job("a"), group(job("b"), job("c")), job("d")))
    run_one = claimed()
    complete(*run_one)
    jobs = by_type(claimed())
    complete(jobs["b"])
    report(jobs["c"].id, Progress(0.5))

    shown = api.get(f"{URL}/{flow}/progress").json()

    validator({"$ref": "#/components/schemas/WorkflowProgress"}).validate(shown)
    assert (shown["workflow_id"], shown["type"]) == (flow, "chain")
    assert [step["progress"] for step in shown["steps"]] == [1, 0.75, 0]
    assert shown["progress"] == round(1.75 / 3, 4)


# --- bad requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"type": "chain", "steps": [job("UPPER")]}, "$.steps[0].type"),
        ({"type": "batch", "jobs": [job()]}, "$.callbacks"),
        (graph(a="b", b="a"), "$.steps[0].depends_on"),
        ({"type": "nope"}, "$.type"),
    ],
)
@spec("contract 8.1")
def test_a_refusal_lists_paths(api: Client, body: dict[str, Any], path: str) -> None:
    error = assert_refused(post(api, body), 400)

    assert error["code"] == "invalid_request"
    assert path in {problem["path"] for problem in error["details"]["validation_errors"]}
    assert not Workflow.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"type":"chain","name":"\\u0000","steps":[{"type":"a","args":[]}]}', 400),
        (b'{"type":"chain","steps":[{"type":"a","args":["\\ud800"]}]}', 400),
        (b'{"type":"chain","steps":[{"type":"a","args":[1e999]}]}', 400),
        (b'{"type":"chain","steps":' + b"[" * 200 + b"]" * 200 + b"}", 400),
        (b'{"type":"chain","steps":[{"type":"a","args":[' + b"9" * 300 + b"]}]}", 201),
        (b'{"type":"chain","steps":[{"type":"a","args":[],"meta":{"a":"'
         + b"x" * 70_000 + b'"}}]}', 413),
        (b'{"type":"chain","steps":[{"type":"a","args":["' + b"x" * 1_100_000 + b'"]}]}', 413),
        (b'{"steps":[' + b",".join([b"5"] * 10_000) + b"]}", 400),
        (b'{"steps":[{"id":"a","type":"a","args":[],"depends_on":['
         + b",".join([b'"a"'] * 10_000) + b"]}]}", 400),
    ],
    ids=range(12),
)  # fmt: skip
@spec("contract 1.5")
def test_bodies_of_any_kind_are_answered_in_the_ojs_shape(
    api: Client, body: bytes, status: int
) -> None:
    answer = post(api, body)

    if status == 201:
        checked(answer, 201)
    else:
        assert_refused(answer, status)


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["chain", "group", "batch", "a", "step-0"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "steps", "jobs", "callbacks", "on_success", "id", "args",
                         "depends_on", "options", "callback_type", "name", "meta", "retry"]),
        inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(body=st.dictionaries(
    st.sampled_from(["type", "steps", "jobs", "callbacks", "options", "name"]), JSON))  # fmt: skip
@spec("contract 8.1")
def test_no_request_is_a_failure_of_the_server(api: Client, body: dict[str, Any]) -> None:
    try:
        raw = orjson.dumps(body)
    except TypeError:
        return
    answer = post(api, raw)

    if answer.status_code == 201:
        checked(answer, 201)
    else:
        assert_refused(answer)


@spec("contract 8.1")
def test_a_long_chain_is_stored_and_shown(api: Client) -> None:
    shown = checked(post(api, chain(*[job() for _ in range(3000)])), 201)

    assert shown["steps_total"] == 3000
    fail(*claimed())
    assert checked(api.get(f"{URL}/{shown['id']}"))["state"] == "failed"


# --- 21, 31 tenants and scopes --------------------------------------------------------------------

Key = Callable[..., dict[str, str]]


@spec("MT-15.2-a")
def test_every_job_has_the_workflows_tenant(api: Client) -> None:
    body = chain(job("a", meta={"tenant_id": "north"}), group(job("b", meta={"x": 1})), job("c"))
    checked(post(api, body), 201)

    metas = []
    while found := claimed():
        metas += [orjson.loads(one.meta) for one in found]
        complete(*found)

    assert metas == [{"tenant_id": "north"}, {"x": 1, "tenant_id": "north"}, {"tenant_id": "north"}]


@spec("MT-15.2-a")
def test_the_header_names_the_tenant(api: Client) -> None:
    checked(post(api, chain(job(), job()), **{"X-OJS-Tenant": "south"}), 201)

    for _ in range(2):
        (one,) = claimed()
        assert orjson.loads(one.meta) == {"tenant_id": "south"}
        complete(one)


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (chain(job(meta={"tenant_id": "a"}), job(meta={"tenant_id": "b"})), None),
        (batch(job(meta={"tenant_id": "a"}), on_success=job(meta={"tenant_id": "b"})), None),
        (chain(group(job(meta={"tenant_id": "b"}))), "a"),
        (chain(job(options={"metadata": {"tenant_id": "b"}})), "a"),
    ],
)
@spec("MT-15.2-b")
def test_a_step_of_another_tenant_is_refused(
    api: Client, body: dict[str, Any], header: str | None
) -> None:
    answer = post(api, body, **({"X-OJS-Tenant": header} if header else {}))

    assert assert_refused(answer, 422)["code"] == "cross_tenant_workflow"
    assert not Workflow.objects.exists()


@spec("contract 31")
def test_a_key_of_a_tenant_sees_its_own_workflows_only(api: Client, new_key: Key) -> None:
    scopes = ("ojs:data:enqueue", "ojs:data:read", "ojs:data:cancel")
    north, south = (new_key(*scopes, tenant=name) for name in ("north", "south"))
    everyone = new_key(*scopes)
    own = checked(post(api, chain(job(), job()), **north), 201)["id"]
    path = f"{URL}/{own}"

    assert Workflow.objects.get(id=own).tenant == "north"
    assert checked(api.get(path, headers=north))["id"] == own
    for answer in (
        api.get(path, headers=south), api.get(f"{path}/progress", headers=south),
        api.delete(path, headers=south), post(api, {}, f"{path}/cancel", **south),
    ):  # fmt: skip
        assert_refused(answer, 404)
    listed = [api.get(URL, headers=key).json()["total"] for key in (north, south, everyone)]
    assert listed == [1, 0, 1]
    complete(*claimed())
    (second,) = claimed()
    assert second.tenant == "north"
    assert_refused(post(api, chain(job(meta={"tenant_id": "south"})), **north), 422)


@spec("contract 31")
def test_scopes(api: Client, new_key: Key) -> None:
    enqueue, read, cancel = (new_key(f"ojs:data:{name}") for name in ("enqueue", "read", "cancel"))
    flow = checked(post(api, chain(job()), **enqueue), 201)["id"]

    assert_refused(post(api, chain(job()), **read), 403)
    assert_refused(api.get(f"{URL}/{flow}", headers=enqueue), 403)
    assert_refused(api.delete(f"{URL}/{flow}", headers=read), 403)
    assert_refused(api.get(URL), 401)
    checked(api.delete(f"{URL}/{flow}", headers=cancel))


@spec("contract 31")
def test_a_key_may_enqueue_only_to_its_queues_also_later(api: Client, new_key: Key) -> None:
    key = new_key("ojs:data:enqueue", queues_enqueue=("mail",), job_types=("a",))
    mail = {"options": {"queue": "mail"}}

    checked(post(api, chain(job("a", **mail)), **key), 201)
    assert_refused(post(api, chain(job("a", **mail), job("a")), **key), 403)
    assert_refused(post(api, chain(group(job("b", **mail))), **key), 403)


@spec("contract 3.9")
def test_the_manifest_declares_workflows(api: Client) -> None:
    shown = api.get("/ojs/manifest").json()

    assert shown["capabilities"]["workflows"] is True
    assert "workflows" in shown["extensions"]


@spec("contract 12.3")
def test_a_workflow_event_names_its_workflow(api: Client) -> None:
    flow = created(chain(job()))
    run()

    shown = api.get("/ojs/v1/events", {"types": "workflow.*"}).json()["events"]

    assert {event["subject"] for event in shown} == {flow}
    assert {event["type"] for event in shown} == {
        "workflow.started", "workflow.step_completed", "workflow.completed",
    }  # fmt: skip


def test_the_document_has_every_operation() -> None:
    assert {path for path in DOCUMENT["paths"] if path.startswith(URL)} == {
        URL, f"{URL}/{{workflow_id}}", f"{URL}/{{workflow_id}}/cancel",
        f"{URL}/{{workflow_id}}/progress",
    }  # fmt: skip


@spec("contract 1.2")
def test_clients_cannot_set_what_makes_a_member(api: Client) -> None:
    body = job(workflow_id="x", workflow_step=7, parent_results=[1])
    checked(post(api, chain(body)), 201)

    (one,) = claimed()

    assert envelope(one)["workflow_step"] == 0
    assert "parent_results" not in envelope(one)
