"""Future jobs of a version keep its handlers from removal. Spec: job-versioning 9.1, 15.3."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs import extensions
from jobs.extensions import FutureProducers
from jobs.models import Event, Job
from ojs_tasks.versions import version_said
from scheduling.models import CronEntry
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.services.test_contract import TYPE, said, send_job, use, versions, work
from versioning.services.contract import Bounds, assess

pytestmark = pytest.mark.usefixtures("store")


def schedule(name: str, /, enabled: bool = True, **template: Any) -> None:
    """Register a schedule of TYPE that is due much later."""
    job = {"type": TYPE, "args": [], **template}
    body = {"name": name, "expression": "0 3 1 1 *", "job_template": job, "enabled": enabled}
    answer(send("POST", "cron", body), 201)


def chain(*steps: dict[str, Any]) -> str:
    """Start a chain whose first step is of another type, and return its id."""
    first = {"type": "other.first", "args": []}
    body = {"type": "chain", "name": "x", "steps": [first, *steps]}
    found: str = answer(send("POST", "workflows", body), 201)["workflow"]["id"]
    return found


def drained() -> None:
    """Complete all sent jobs, and move them back in time."""
    work("both", "*")
    earlier = timedelta(minutes=9)
    Event.objects.update(at=F("at") - earlier)
    Job.objects.update(created_at=F("created_at") - earlier)


@pytest.mark.parametrize(
    "says",
    [
        {"version": "1.2"}, {"options": {"version": "1.2"}}, {"type": f"{TYPE}@1.2"},
        {"version": "1.2", "options": {"version": "2.0"}, "type": f"{TYPE}@3.0"},
    ],
)  # fmt: skip
def test_a_schedule_that_carries_a_version_stands_against_it(says: dict[str, Any]) -> None:
    send_job("1.0")
    send_job("2.0")
    drained()
    assert said() == ("yes", [])
    schedule("nightly", **says)

    assert said() == ("no", ["will_be_sent"])
    assert use("1.2")["will_be_sent"] == [{"source": "schedules", "senders": 1, "resting": 0}]
    (removal,) = assess(TYPE, ["1.x"]).removals
    assert removal.reasons[0].message == "1 schedule will send 1.2"
    assert assess(TYPE, ["1.0"]).removals[0].safe == "yes"
    text, code = versions("--remove", "1.x")
    assert code == 3
    assert "to come from 1 schedules" in text


def test_a_schedule_that_is_disabled_is_a_warning() -> None:
    send_job("1.0")
    drained()
    schedule("resting", enabled=False, version="1.0")

    assert said() == ("yes", ["resting"])
    assert use("1.0")["will_be_sent"] == [{"source": "schedules", "senders": 0, "resting": 1}]


def test_schedules_and_steps_without_a_version_stand_against_it() -> None:
    send_job("1.0")
    drained()
    schedule("plain")
    chain({"type": TYPE, "args": []})

    assert said() == ("no", ["unversioned_will_be_sent"])
    shown = assess(TYPE).unversioned.coming
    assert sorted((one.source, one.senders) for one in shown) == [
        ("schedules", 1), ("steps of workflows", 1),
    ]  # fmt: skip


@spec("VER-15.3-a")
def test_steps_that_have_no_job_yet_stand_against_it_until_their_workflow_ends() -> None:
    send_job("1.0")
    drained()
    flow = chain({"type": f"{TYPE}@1.0", "args": []}, {"type": TYPE, "version": 2, "args": []})

    assert said() == ("no", ["will_be_sent"])
    assert use("2.0")["will_be_sent"][0]["source"] == "steps of workflows"
    answer(send("DELETE", f"workflows/{flow}"))
    assert said() == ("yes", [])


def test_a_step_that_has_its_job_is_counted_as_a_job() -> None:
    send_job("1.0")
    drained()
    chain({"type": TYPE, "version": "1.0", "args": []})
    jobs = answer(send("POST", "workers/fetch", {"queues": ["default"], "count": 9}))["jobs"]
    answer(send("POST", "workers/ack", {"job_id": jobs[0]["id"], "result": None}))

    assert said() == ("no", ["jobs_left", "still_sent"])
    assert use("1.0")["will_be_sent"] == []


def test_callbacks_that_had_no_turn_send_nothing() -> None:
    send_job("1.0")
    drained()
    body = {"type": "batch", "jobs": [{"type": TYPE, "args": [], "version": "9.0"}],
            "callbacks": {"on_failure": {"type": TYPE, "version": "1.0", "args": []}}}  # fmt: skip
    answer(send("POST", "workflows", body), 201)
    assert said() == ("no", ["will_be_sent", "not_expanded"]) or "will_be_sent" in said()[1]

    drained()

    assert use("1.0")["will_be_sent"] == []


def test_a_version_that_stays_and_will_be_sent_has_to_be_accepted() -> None:
    send_job("1.0")
    drained()
    answer(send("POST", "workers/heartbeat", {"worker_id": "both", "state": "terminate"}))
    work("old", "<2.0")
    schedule("new", version="2.0")

    assert said() == ("no", ["not_expanded"])


def test_what_was_not_seen_to_the_end_is_not_known() -> None:
    send_job("1.0")
    drained()
    for n in range(3):
        schedule(f"s{n}", version="2.0")

    (removal,) = assess(TYPE, ["1.x"], bounds=Bounds(looked=2)).removals

    assert (removal.safe, removal.reasons[0].why) == ("unknown", "coming_not_counted")
    assert removal.reasons[0].message == "not all schedules of the type were looked at"


def test_a_type_that_only_schedules_send_has_versions() -> None:
    schedule("nightly", type="only.planned", version="4.0")

    (removal,) = assess("only.planned").removals
    assert (removal.removed, removal.safe) == ("4.x", "no")
    found = answer(send("GET", "admin/versions/only.planned"))
    assert [one["version"] for one in found["versions"]] == ["4.0"]


def test_others_schedules_say_nothing_of_a_type() -> None:
    schedule("other", type="other.type", version="1.0")
    schedule("longer", type=f"{TYPE}.more", version="1.0")

    assert all(not one.versions for one in extensions.future_producers(TYPE, looked=100))
    assert extensions.future_producers("other.type", looked=100)[0] == FutureProducers(
        "schedules", (("1.0", 1),)
    )
    CronEntry.objects.all().delete()


@pytest.mark.parametrize(
    ("given", "version", "option", "said"),
    [
        ("a.b", None, None, None), ("a.b@1.0", None, None, "1.0"), ("a.b@1.0", "null", "2", 2),
        ("a.b@1.0", '"3.0"', "2", "3.0"), ("a.b", "null", "null", None),
    ],
)  # fmt: skip
def test_the_first_that_says_a_version_counts(
    given: str, version: str | None, option: str | None, said: str | int | None
) -> None:
    assert version_said(given, version, option) == said
    assert json.loads(version or "null") in (None, said)
