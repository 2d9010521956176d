"""Admin API of queues, workers and the system. Spec: contract 24; EXT-ADM-001 on.

It covers statistics, maintenance, configuration and the audit log, too.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from jobs.api.wire.media import JSON_TYPE
from jobs.conf import conf
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Audit, Job, ObjectivePeriod, Worker
from jobs.queries import now
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.read.show import show
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.factories import DraftFactory, JobFactory, stored_ids
from tests.spec import spec

Keys = Callable[..., dict[str, str]]
ADMIN = "/ojs/v1/admin"


def send(api: Client, path: str, body: str = "", method: str = "POST") -> Any:
    return api.generic(method, f"{ADMIN}/{path}", body, content_type=JSON_TYPE)


@spec("ADM-001")
def test_stats_have_numbers_where_clients_read_them(api: Client) -> None:
    stored_ids(2, queue="a")
    JobFactory.create(state=State.COMPLETED, queue="b")
    heartbeat(Report("w1"))
    send(api, "queues/a/pause")

    found = api.get(f"{ADMIN}/stats").json()

    assert (found["queues"], found["workers"]) == (2, 1)
    assert found["queues_detail"] == {"total": 2, "active": 1, "paused": 1}
    assert found["workers_detail"] == {"total": 1, "running": 1, "quiet": 0, "stale": 0}
    assert (found["jobs"]["available"], found["jobs"]["completed"]) == (2, 1)
    assert all(isinstance(found["throughput"][f"{n}_per_min"], int) for n in ("enqueued", "failed"))


@spec("contract 24.3")
def test_stats_in_detail_list_the_busiest_queue_first(api: Client) -> None:
    stored_ids(1, queue="a")
    stored_ids(3, queue="b")

    found = api.get(f"{ADMIN}/stats", {"detail": "true", "limit": "1"}).json()

    assert found["queues"] == [{"name": "b", "depth": 3, "avg_duration_ms": 0.0, "error_rate": 0.0}]


@spec("contract 24.1")
def test_history_has_both_forms(api: Client) -> None:
    found = api.get(f"{ADMIN}/stats/history", {"period": "5m", "since": "1h"}).json()

    assert found["period"] == "5m"
    assert len(found["data"]) == len(found["data_points"]) in {12, 13}
    assert {"processed", "latency_p50_ms", "latency_p99_ms"} <= found["data"][0].keys()
    assert {"completed", "avg_latency_ms"} <= found["data_points"][0].keys()


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"period": "2m"}, "period"),
        ({"since": "later"}, "since"),
        ({"since": "2026-01-01T00:00:00Z", "until": "2025-01-01T00:00:00Z"}, "since"),
        ({"period": "1m", "since": "30d"}, "since"),
    ],
)
@spec("contract 24.1")
def test_history_refuses_what_leads_nowhere(api: Client, query: dict[str, str], name: str) -> None:
    answer = api.get(f"{ADMIN}/stats/history", query)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == name


@spec("ADM-002")
def test_queues_have_counts_and_pages(api: Client) -> None:
    for name in ("a", "b", "c"):
        stored_ids(1, queue=name)

    found = api.get(f"{ADMIN}/queues", {"per_page": "2"}).json()

    assert [queue["name"] for queue in found["items"]] == ["a", "b"]
    assert found["items"][0]["counts"] == {
        state.value: int(state is State.AVAILABLE) for state in State
    }
    assert found["pagination"]["total"] == found["total"] == 3


@spec("ADM-003")
def test_pause_makes_the_queue_holds_jobs_and_resume_lets_go(api: Client) -> None:
    paused = send(api, "queues/new/pause", '{"reason": "incident"}').json()
    stored_ids(1, queue="new")
    held = fetch(FetchRequest(("new",))).jobs
    resumed = send(api, "queues/new/resume").json()

    assert (paused["name"], paused["paused"], held) == ("new", True, [])
    assert paused["paused_at"]
    assert (resumed["paused"], resumed["paused_at"]) == (False, None)
    assert len(fetch(FetchRequest(("new",))).jobs) == 1
    assert list(Audit.objects.order_by("id").values_list("action", "target", "reason")) == [
        ("queue.paused", "new", "incident"), ("queue.resumed", "new", None),
    ]  # fmt: skip


@spec("contract 24.1")
def test_queue_detail_names_its_oldest_job(api: Client) -> None:
    stored_ids(1, queue="a")

    found = api.get(f"{ADMIN}/queues/a").json()

    assert isinstance(found["configuration"], dict)
    assert found["oldest_available_at"]
    assert api.get(f"{ADMIN}/queues/none").status_code == 404


def test_queue_detail_has_the_objective_and_its_windows(api: Client) -> None:
    stored_ids(1, queue="a")
    assert "objective" not in api.get(f"{ADMIN}/queues/a").json()
    wanted = {"objective": {"start_within_ms": 30_000, "percent": 99}}
    put = api.put("/ojs/v1/queues/a/config", wanted, content_type="application/json")
    ObjectivePeriod.objects.create(
        span_s=60, at=now().replace(second=0, microsecond=0), queue="a", within_ms=30_000,
        started=200, late=1,
    )  # fmt: skip

    found = api.get(f"{ADMIN}/queues/a").json()["objective"]

    assert put.json()["configuration"]["objective"] == {"start_within_ms": 30_000, "percent": 99.0}
    assert (found["start_within_ms"], found["percent"], found["budget_left"]) == (
        30_000,
        99.0,
        None,
    )
    assert [one["window_s"] for one in found["windows"]] == [3_600, 21_600, 259_200, 2_592_000]
    assert found["windows"][0] == {
        "window_s": 3_600, "started": 200, "late": 1, "attainment": 0.995, "burn_rate": 0.5,
    }  # fmt: skip
    assert found["windows"][3]["attainment"] is None  # the hours have no starts
    refused = api.put(
        "/ojs/v1/queues/a/config",
        {"objective": {"percent": 100}}, content_type="application/json",
    )  # fmt: skip
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (
        400, "objective.percent",
    )  # fmt: skip


# --- workers --------------------------------------------------------------------------------------


@spec("ADM-005")
def test_workers_are_listed_and_counted(api: Client) -> None:
    heartbeat(Report("w1", queues=("a",), concurrency=5, labels={"version": "1.2"}, pid=7))
    heartbeat(Report("w2"))
    Worker.objects.filter(id="w2").update(last_heartbeat_at=Now() - timedelta(minutes=5))
    send(api, "workers/w1/quiet")

    found = api.get(f"{ADMIN}/workers").json()
    stale = api.get(f"{ADMIN}/workers", {"state": "stale"}).json()

    assert found["summary"] == {"total": 2, "running": 0, "quiet": 1, "stale": 1}
    assert found["workers"] == found["items"]
    first = found["items"][0]
    assert (first["id"], first["state"], first["directive"]) == ("w1", "quiet", "quiet")
    assert (first["active_jobs"], first["version"], first["pid"]) == (0, "1.2", 7)
    assert first["last_heartbeat"] == first["last_heartbeat_at"]
    assert [one["id"] for one in stale["items"]] == ["w2"]
    assert stale["pagination"]["total"] == 1


@spec("contract 24.1")
def test_worker_detail_names_its_jobs(api: Client) -> None:
    heartbeat(Report("w1"))
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    found = api.get(f"{ADMIN}/workers/w1").json()

    assert (found["id"], found["active_jobs"], found["active_job_ids"]) == ("w1", 1, [job.id])
    assert api.get(f"{ADMIN}/workers/w2").status_code == 404


@spec("GS-15")
def test_directive_reaches_all_workers_of_a_pool(api: Client) -> None:
    heartbeat(Report("w1", pool="p"))
    heartbeat(Report("w2"))

    told = send(api, "workers/directive", '{"directive": "quiet", "pool": "p"}').json()

    assert told == {"directive": "quiet", "affected": 1}
    assert [heartbeat(Report(name)).standing.name for name in ("w1", "w2")] == ["QUIET", "RUNNING"]
    assert send(api, "workers/directive", '{"directive": "resume"}').json()["affected"] == 2
    assert send(api, "workers/directive", '{"directive": "dance"}').status_code == 400


@spec("contract 24.1")
def test_removed_worker_gives_its_jobs_back_at_once(api: Client) -> None:
    heartbeat(Report("w1"))
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    refused = api.delete(f"{ADMIN}/workers/w1")
    removed = api.delete(f"{ADMIN}/workers/w1?force=true")

    assert (refused.status_code, removed.status_code) == (409, 204)
    assert (show(job.id).state, show(job.id).attempt) == (3, 0)
    assert not Worker.objects.filter(id="w1").exists()
    assert Audit.objects.get().data == {"returned_jobs": 1}


@spec("contract 24.1")
def test_silent_worker_is_removed_without_force(api: Client) -> None:
    heartbeat(Report("w1"))
    Worker.objects.update(last_heartbeat_at=Now() - timedelta(minutes=5))

    assert api.delete(f"{ADMIN}/workers/w1").status_code == 204


# --- system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["system/maintenance", "maintenance"])
@spec("contract 24.1")
def test_maintenance_is_switched(api: Client, path: str) -> None:
    assert api.get(f"{ADMIN}/{path}").json()["enabled"] is False

    on = send(api, path, '{"enabled": true, "reason": "move", "duration": "30m"}').json()
    off = send(api, path, '{"enabled": false}').json()

    assert (on["enabled"], on["maintenance"], on["reason"]) == (True, True, "move")
    assert on["started_at"] == on["enabled_at"] < on["ends_at"] == on["estimated_end"]
    assert (off["enabled"], off["ends_at"]) == (False, None)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("{}", "enabled"),
        ('{"enabled": 1}', "enabled"),
        ('{"enabled": true, "duration": "soon"}', "duration"),
        ('{"enabled": true, "duration": "PT0S"}', "duration"),
        ('{"enabled": true, "reason": 5}', "reason"),
    ],
)
@spec("contract 24.1")
def test_maintenance_refuses_what_it_cannot_read(api: Client, body: str, name: str) -> None:
    answer = send(api, "maintenance", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == name
    assert not Audit.objects.exists()


@pytest.mark.parametrize("path", ["system/config", "config"])
@spec("contract 24.1")
def test_configuration_shows_no_secret(api: Client, path: str) -> None:
    found = api.get(f"{ADMIN}/{path}").json()

    assert found["settings"]["worker_silence_ms"] == conf().worker_silence_ms
    assert not any("secret" in name or "password" in name for name in found["settings"])


@spec("contract 31.5")
def test_audit_is_listed_latest_first_and_filtered(api: Client) -> None:
    for name in ("a", "b"):
        send(api, f"queues/{name}/pause")
    send(api, "queues/a/resume")

    found = api.get(f"{ADMIN}/audit").json()
    paused = api.get(f"{ADMIN}/audit", {"action": "queue.paused"}).json()
    nobody = api.get(f"{ADMIN}/audit", {"principal": "nobody"}).json()

    assert [one["action"] for one in found["items"]] == [
        "queue.resumed", "queue.paused", "queue.paused",
    ]  # fmt: skip
    assert [one["target"] for one in paused["items"]] == ["b", "a"]
    assert nobody["total"] == 0
    assert found["items"][0]["source_ip"] == "127.0.0.1"
    assert found["items"][0]["correlation_id"].startswith("req_")


@spec("contract 24.1")
def test_observability_has_a_score(api: Client) -> None:
    found = api.get(f"{ADMIN}/observability/health").json()

    assert 0 <= found["score"] <= 100
    assert found["status"] in {"ok", "degraded", "critical"}
    assert found["anomaly_count"] == len(found["slo_violations"])
    assert {check["name"] for check in found["checks"]} >= {"loops_stopped", "failure_ratio"}


# --- keys bound to a tenant -----------------------------------------------------------------------


@pytest.fixture
def of_north(api: Client, new_key: Keys) -> dict[str, str]:
    """Store jobs of two tenants and return a key that is bound to one of them."""
    for tenant, number in (("north", 2), ("south", 3)):
        drafts = [DraftFactory.create(queue=tenant) for _ in range(number)]
        drafts.append(DraftFactory.create(queue="shared"))
        for draft in drafts:
            draft.tenant = tenant
        enqueue(drafts)
    return new_key("admin", tenant="north")


@spec("contract 31.2")
def test_bound_key_counts_its_own_alone(api: Client, of_north: dict[str, str]) -> None:
    stats = api.get(f"{ADMIN}/stats", headers=of_north).json()
    queues = api.get(f"{ADMIN}/queues", headers=of_north).json()
    jobs = api.get(f"{ADMIN}/jobs", headers=of_north).json()
    listed = api.get("/ojs/v1/jobs", headers=of_north).json()
    detail = api.get(f"{ADMIN}/queues/shared", headers=of_north).json()

    assert (stats["queues"], stats["workers"], stats["jobs"]["available"]) == (2, 0, 3)
    assert [(q["name"], q["counts"]["available"]) for q in queues["items"]] == [
        ("north", 2), ("shared", 1),
    ]  # fmt: skip
    assert jobs["total"] == listed["total"] == len(jobs["items"]) == 3
    assert {job["tenant_id"] for job in jobs["items"]} == {"north"}
    assert detail["counts"]["available"] == 1
    assert api.get(f"{ADMIN}/queues/south", headers=of_north).status_code == 404


@spec("contract 31.2")
def test_bound_key_cannot_ask_for_another_tenant(api: Client, of_north: dict[str, str]) -> None:
    found = api.get(f"{ADMIN}/jobs", {"tenant": "south"}, headers=of_north).json()

    assert {job["tenant_id"] for job in found["items"]} == {"north"}


@pytest.mark.parametrize("path", ["", "/trace", "/retry", "/cancel"])
@spec("contract 31.2")
def test_bound_key_does_not_see_jobs_of_others(
    api: Client, of_north: dict[str, str], path: str
) -> None:
    other = Job.objects.filter(tenant="south").values_list("id", flat=True)[0]
    method = "GET" if path in {"", "/trace"} else "POST"

    answer = api.generic(method, f"{ADMIN}/jobs/{other}{path}", headers=of_north)

    assert answer.status_code == 404
