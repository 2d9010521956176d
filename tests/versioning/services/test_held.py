"""Jobs that no worker accepts: events, counts, gates. Spec: job-versioning 8.2; contract 22."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from jobs.domain.record.events import Kind
from jobs.models import Event, Worker
from jobs.services.health import exposition
from tests.alerts import alerts_of
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.wire import TYPE, declares, fetched, push
from versioning.models import Held
from versioning.services.held import watch
from versioning.services.metrics import families

pytestmark = pytest.mark.usefixtures("store")


def held_events() -> list[dict[str, Any]]:
    found = Event.objects.filter(kind=Kind.VERSION_HELD).order_by("stamp", "seq")
    return [{"type": event.type, "queue": event.queue, **(event.data or {})} for event in found]


def pass_time(seconds: int) -> None:
    """Let held jobs have been held longer by this time."""
    Held.objects.update(since=F("since") - timedelta(seconds=seconds))


def test_versioning_held_is_told_once_while_it_lasts() -> None:
    declares("w1", "1.0")
    push("2.0")
    push("2.0", queue="other")
    push("2.0", queue="other")

    assert watch() == 0  # not long enough yet
    assert alerts_of("version_held") == []
    pass_time(31)
    assert watch() == 1
    assert watch() == 0
    (alert,) = alerts_of("version_held")
    assert (alert.kind, alert.subject) == ("version_held", TYPE)
    assert f"3 jobs of {TYPE} 2.0" in alert.text

    assert held_events() == [{"type": TYPE, "queue": "other", "version": "2.0", "count": 3}]


def test_versioning_held_is_told_anew_when_it_was_over_meanwhile() -> None:
    declares("w1", "1.0")
    push("2.0")
    watch()
    pass_time(31)
    watch()

    declares("w1", ">=1.0")
    assert (watch(), Held.objects.count()) == (0, 0)
    declares("w1", "1.0")
    watch()
    pass_time(31)
    assert watch() == 1

    assert len(held_events()) == 2


def test_versioning_held_counts_no_worker_that_cannot_take_the_job() -> None:
    declares("w1", "2.0", queues=["other"])
    declares("w2", "2.0", state="quiet")
    declares("w3", "2.0")
    Worker.objects.filter(id="w3").update(
        last_heartbeat_at=F("last_heartbeat_at") - timedelta(hours=1)
    )
    push("2.0")
    watch()
    pass_time(31)

    assert watch() == 1
    declares("w4", "2.0")
    watch()
    assert not Held.objects.exists()


def shown() -> str:
    exposition._cached.clear()  # cached by the test before
    return Client().get("/metrics").content.decode()


def test_what_is_held_is_counted_by_type() -> None:
    declares("w1", "1.0")
    for version in ("1.0", "2.0", "3.0"):
        push(version)
    watch()

    assert f'ojs_version_held_jobs{{type="{TYPE}"}} 2.0' in shown()
    declares("w1", "*")
    watch()
    family, *_ = families(lambda _kind, name: name)  # the exposition is cached for a moment
    assert family.samples == []


def explained(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer(send("GET", f"admin/jobs/{job['id']}/explain"))
    return found


def gate(job: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in explained(job)["gates"] if one["gate"] == "version")


@spec("VER-8.2-c")
def test_the_explanation_says_what_a_held_job_waits_for() -> None:
    declares("w1", "1.0")
    job = push("2.0")

    found = gate(job)

    assert (found["state"], found["name"]) == ("closed", "2.0")
    assert f"waiting for a worker that accepts 2.0 of {TYPE}" in found["message"]
    assert explained(job)["eligible"] is False
    assert fetched("w1") == []


@spec("VER-8.2-c")
def test_the_explanation_goes_by_what_claims_go_by() -> None:
    for versions in ("*", "2.0", ">=1.0 <3.0", ">=2.1", "<2.0", "1.0"):
        job = push("2.0")
        declares("w1", versions)

        said = gate(job)["state"]
        is_handed_out = fetched("w1") != []

        assert (said == "open") is is_handed_out, versions


def test_jobs_without_a_version_have_no_such_gate() -> None:
    declares("w1", "1.0")

    assert "version" not in {one["gate"] for one in explained(push())["gates"]}


def test_workers_that_never_heartbeat_may_be_gone() -> None:
    job = push("2.0")
    assert gate(job)["state"] == "unknown"  # no worker exists
    fetched("w1", queues=["empty"])
    assert gate(job)["state"] == "unknown"


@spec("contract 22.3")
def test_versions_are_shown_with_what_waits_and_who_accepts() -> None:
    declares("w1", ">=1.0 <2.0")
    for version in ("1.0", "1.0", "1.5", "2.0", "1.10"):
        push(version)
    push("1.0", type="other.type")
    push()
    fetched("w1", 1)

    found = answer(send("GET", f"admin/versions/{TYPE}"))

    loads = {v["version"]: (v["available"] + v["active"], v["workers"]) for v in found["versions"]}
    listed = [v["version"] for v in found["versions"] if v["version"] in loads]
    assert {v: loads[v] for v in ("1.0", "1.5", "1.10", "2.0")} == {
        "1.0": (2, 1), "1.5": (1, 1), "1.10": (1, 1), "2.0": (1, 0),
    }  # fmt: skip
    assert sum(v["active"] for v in found["versions"]) == 1
    assert listed.index("1.5") < listed.index("1.10") < listed.index("2.0")
    assert (found["type"], found["held"]) == (TYPE, 1)


@spec("contract 22.3")
def test_a_type_without_versions_has_none() -> None:
    found = answer(send("GET", "admin/versions/never.seen"))
    assert (found["type"], found["versions"], found["held"]) == ("never.seen", [], 0)
    assert found["removals"] == []
    answer(send("GET", "admin/versions/Bad"), 404)
