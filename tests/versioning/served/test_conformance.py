"""Required behaviour over HTTP (VER-001 to 006). Spec: job-versioning 4, 12."""

from typing import Any

import pytest

from tests.scheduling.served.conftest import Served, served
from tests.spec import spec

__all__ = ["served"]
TYPE = "invoice.generate"


def push(served: Served, version: Any = None, **job: Any) -> dict[str, Any]:
    """Enqueue one job and return it."""
    sent = {"type": TYPE, "args": [], **job} | ({} if version is None else {"version": version})
    found: dict[str, Any] = served.send("POST", "jobs", sent, 201)["job"]
    return found


def beat(served: Served, worker: str, versions: str, path: str = "workers/heartbeat") -> None:
    """Declare versions of TYPE."""
    handlers = [{"type": TYPE, "versions": versions}]
    served.send("POST", path, {"worker_id": worker, "handlers": handlers})


def fetch(served: Served, worker: str) -> list[Any]:
    """Fetch all jobs that a worker may have and return their versions."""
    found = served.fetch(50, queues=["default"], worker_id=worker)
    return sorted((job.get("version") for job in found), key=str)


@pytest.mark.parametrize("version", [2, "2.0", "1.10.3"])
@spec("VER-001")
def test_the_version_is_parsed_and_stored(served: Served, version: Any) -> None:
    job = push(served, version)

    shown = served.send("GET", f"jobs/{job['id']}")["job"]
    assert (shown["version"], type(shown["version"])) == (version, type(version))
    served.send("POST", "jobs", {"type": TYPE, "args": [], "version": "x"}, 400)


@spec("VER-002")
def test_the_version_is_parsed_from_the_type(served: Served) -> None:
    job = push(served, type=f"{TYPE}@2.0")

    shown = served.send("GET", f"jobs/{job['id']}")["job"]
    assert (shown["type"], shown["version"]) == (TYPE, "2.0")
    assert push(served, "3.0", type=f"{TYPE}@2.0")["version"] == "3.0"


@pytest.mark.parametrize("path", ["workers/heartbeat", "workers/register"])
@spec("VER-003")
def test_workers_declare_ranges(served: Served, path: str) -> None:
    beat(served, "w1", ">=1.0 <2.0", path)
    push(served, "1.0")
    push(served, "2.0")

    for _ in range(4):  # each process may answer
        push(served, "2.0")
    assert fetch(served, "w1") == ["1.0"]
    wrong = {"worker_id": "w1", "handlers": [{"type": TYPE, "versions": "^1.0"}]}
    error = served.send("POST", path, wrong, 422)["error"]
    assert error["code"] == "invalid_version_range"


@spec("VER-004")
def test_versioned_jobs_go_to_compatible_workers_alone(served: Served) -> None:
    beat(served, "old", ">=1.0 <2.0")
    beat(served, "new", ">=2.0 <3.0")
    for version in ("1.0", "2.0", "1.1", "2.1"):
        push(served, version)

    assert fetch(served, "old") == ["1.0", "1.1"]
    assert fetch(served, "new") == ["2.0", "2.1"]


@spec("VER-005")
def test_jobs_are_held_while_no_worker_is_compatible(served: Served) -> None:
    beat(served, "old", ">=1.0 <2.0")
    job = push(served, "2.0")

    assert fetch(served, "old") == []
    assert served.send("GET", f"jobs/{job['id']}")["job"]["state"] == "available"
    said = served.send("GET", f"admin/jobs/{job['id']}/explain")
    assert any("waiting for a worker that accepts 2.0" in one["message"] for one in said["gates"])
    beat(served, "new", "2.0")
    assert fetch(served, "new") == ["2.0"]


@pytest.mark.parametrize("versions", ["*", "2.0", ">=1.0 <3.0"])
@spec("VER-006")
def test_jobs_without_a_version_go_to_any_worker(served: Served, versions: str) -> None:
    beat(served, "w1", versions)
    push(served)

    assert fetch(served, "w1") == [None]


@spec("job-versioning 4")
def test_a_rolling_deployment_mixes_nothing_up(served: Served) -> None:
    """Run old and new producers and workers at once: the three failures of section 4."""
    beat(served, "old", ">=1.0 <2.0")
    stale = push(served, "1.0", args=[{"amount": 1}])  # enqueued before the deployment
    beat(served, "new", ">=2.0 <3.0")
    push(served, "2.0", args=[{"amount": 2, "currency": "USD"}])  # new producer
    push(served, "1.0", args=[{"amount": 3}])  # old producer

    assert fetch(served, "new") == ["2.0"]
    assert fetch(served, "old") == ["1.0", "1.0"]
    assert served.send("GET", f"jobs/{stale['id']}")["job"]["state"] == "active"


def test_a_waiting_fetch_is_woken_by_a_compatible_job_alone(served: Served) -> None:
    beat(served, "new", "2.0")
    push(served, "1.0")
    body: dict[str, Any] = {"queues": ["default"], "worker_id": "new"}
    assert served.fetch(wait_ms=50, **body) == []

    push(served, "2.0")

    assert [job["version"] for job in served.fetch(wait_ms=20_000, **body)] == ["2.0"]
