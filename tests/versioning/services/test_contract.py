"""Expand, migrate and contract, with old and new producers and workers.

Spec: job-versioning 9.1, 4.
"""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from jobs.models import Event, Job
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.wire import declares, push
from versioning.services.contract import Bounds, assess

pytestmark = pytest.mark.usefixtures("store")

TYPE = "contract.type"  # only these tests use its version keys
SOON: dict[str, Any] = {"options": {"delay_until": "+PT1H"}}


def send_job(version: str | None, /, **more: Any) -> str:
    """Enqueue a job of TYPE and return its id."""
    job: str = push(version, type=TYPE, **more)["id"]
    return job


def work(worker: str, versions: str) -> int:
    """Let a worker of these versions complete all its jobs; return their number."""
    handlers = [{"type": TYPE, "versions": versions}]
    body = {"worker_id": worker, "queues": ["default"], "count": 50}
    answer(send("POST", "workers/heartbeat", {"worker_id": worker, "handlers": handlers}))
    jobs = answer(send("POST", "workers/fetch", body))["jobs"]
    for job in jobs:
        answer(send("POST", "workers/ack", {"job_id": job["id"], "result": None}))
    return len(jobs)


def pass_time(minutes: int) -> None:
    """Move all sent jobs back by this time."""
    earlier = timedelta(minutes=minutes)
    Event.objects.update(at=F("at") - earlier)
    Job.objects.update(created_at=F("created_at") - earlier)


def shown() -> dict[str, Any]:
    found: dict[str, Any] = answer(send("GET", f"admin/versions/{TYPE}"))
    return found


def said(major: str = "1.x") -> tuple[str, list[str]]:
    """Return whether a major may be removed, with the codes of the reasons."""
    one = next(one for one in shown()["removals"] if one["versions"] == major)
    return one["safe"], [reason["code"] for reason in one["reasons"]]


def use(version: str) -> dict[str, Any]:
    found: dict[str, Any] = next(v for v in shown()["versions"] if v["version"] == version)
    return found


def versions(*arguments: str) -> tuple[str, int]:
    """Run `manage.py ojs versions TYPE` and return its output and its exit code."""
    out = StringIO()
    try:
        call_command("ojs", "versions", TYPE, *arguments, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(end.code or 0)
    return out.getvalue(), 0


@spec("job-versioning 9")
def test_expand_migrate_contract() -> None:
    # before: old producers and old workers
    send_job("1.0")
    declares("old", "<2.0")
    assert work("old", "<2.0") == 1
    send_job("1.0")
    assert said() == ("no", ["jobs_left", "still_sent"])
    assert versions("--remove", "1.x")[1] == 3

    # a producer that is deployed too early: old workers get none of its jobs
    send_job("2.0")
    assert work("old", "<2.0") == 1
    assert said() == ("no", ["still_sent", "not_expanded"])

    # expand: workers of both versions
    answer(send("POST", "workers/heartbeat", {"worker_id": "old", "state": "terminate"}))
    assert work("both", ">=1.0 <3.0") == 1
    assert said() == ("no", ["still_sent"])

    # migrate: new producers, while an old producer continues
    send_job("2.0")
    send_job("1.0")
    assert work("both", ">=1.0 <3.0") == 2
    pass_time(6)
    send_job("2.0")
    late = send_job("1.0", **SOON)
    assert said() == ("no", ["jobs_left", "still_sent"])
    pass_time(6)
    assert said() == ("no", ["jobs_left"])
    assert use("1.0")["scheduled"] == 1

    # drain
    answer(send("DELETE", f"jobs/{late}"))
    assert said() == ("yes", [])
    text, code = versions("--remove", "1.x")
    assert code == 0
    assert "safe to remove 1.x: yes" in text

    # contract
    assert said("2.x")[0] == "no"
    assert work("new", ">=2.0 <3.0") == 1


def test_jobs_without_a_version_stand_against_it() -> None:
    send_job("1.0")
    work("both", "*")
    pass_time(6)
    assert said() == ("yes", [])
    send_job(None)
    send_job(None, **SOON)

    assert said() == ("no", ["unversioned_left"])
    found = shown()["unversioned"]
    assert (found["available"], found["scheduled"], found["at_least"]) == (1, 1, [])
    assert found["last_sent_at"] is not None


def test_each_state_is_counted_by_version() -> None:
    body = {"worker_id": "w", "queues": ["default"], "count": 1}
    retry = {"max_attempts": 2, "initial_interval": "PT1H"}
    failed = send_job("1.0", options={"retry": retry})
    answer(send("POST", "workers/fetch", body))
    error = {"type": "Broken", "message": "no"}
    answer(send("POST", "workers/nack", {"job_id": failed, "error": error}))
    send_job("1.0")
    answer(send("POST", "workers/fetch", body))
    send_job("1.0")
    send_job("1.0", **SOON)
    dead = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    buried = send_job("1.5", options={"retry": dead})
    answer(send("POST", "workers/fetch", body | {"count": 9}))
    answer(send("POST", "workers/nack", {"job_id": buried, "error": error}))

    found = use("1.0")
    assert (found["active"], found["scheduled"], found["retryable"]) == (2, 1, 1)
    assert (use("1.5")["dead_letters"], use("1.5")["active"]) == (1, 0)
    pass_time(6)
    (removal,) = assess(TYPE, ["1.5"]).removals
    assert [reason.why for reason in removal.reasons] == ["dead_letters", "unheard"]
    assert removal.safe == "yes"


def test_what_workers_accept_is_told() -> None:
    send_job("1.0")
    send_job("2.0")
    work("w1", "<2.0")
    work("w2", "*")

    accepts = {tuple(one["declared"]): one for one in shown()["accepts"]}

    assert accepts.keys() == {("<2.0",), ("*",)}
    assert (accepts[("*",)]["workers"], accepts[("*",)]["unheard"]) == (1, 0)
    assert {"1.0", "2.0"} <= set(accepts[("*",)]["accepted"])
    old = set(accepts[("<2.0",)]["accepted"])
    assert ("1.0" in old, "2.0" in old) == (True, False)


def test_what_was_not_looked_at_is_not_known() -> None:
    send_job("1.0")
    work("both", "*")
    pass_time(6)
    for _ in range(3):
        push(type="other.type", **SOON)

    (removal,) = assess(TYPE, ["1.x"], bounds=Bounds(looked=2)).removals
    assert (removal.safe, removal.reasons[0].why) == ("unknown", "not_counted")
    (removal,) = assess(TYPE, ["1.x"], bounds=Bounds(events=2)).removals
    assert [(r.why, r.forces) for r in removal.reasons] == [("sends_unknown", "unknown")]
    assert assess(TYPE, ["1.x"]).removals[0].safe == "yes"
    assert versions("--remove", "1.x", "--look", "2")[1] == 4


def test_what_rules_send_to_a_version_needs_its_handlers() -> None:
    send_job("1.0")
    send_job("2.0")
    work("both", "*")
    pass_time(6)
    rules = {"rules": [{"version": "1.5", "weight": 1}]}
    answer(send("PUT", f"admin/routing/{TYPE}", rules), 201)
    send_job(None)

    assert said() == ("no", ["jobs_left", "still_routed", "unversioned_left"])
    assert use("1.5")["available"] == 1
    answer(send("DELETE", f"admin/routing/{TYPE}"), 204)
    work("both", "*")
    assert said() == ("yes", [])


def test_jobs_that_are_gone_leave_open_what_was_sent() -> None:
    send_job("1.0")
    gone = send_job("1.0")
    work("both", "*")
    pass_time(6)
    Event.objects.filter(job_id=gone).update(at=F("at") + timedelta(minutes=5))
    Job.objects.filter(id=gone).delete()

    assert said() == ("unknown", ["sends_unknown"])


def test_the_command_prints_json_for_scripts() -> None:
    send_job("1.0")

    text, code = versions("--json")

    assert code == 0
    found, expected = json.loads(text), shown()
    assert expected.pop("held") == 1
    assert found.pop("sent_known_since") < expected.pop("sent_known_since")  # read later
    assert found == expected
    assert json.loads(versions("--json", "--remove", "<2.0")[0])["removals"][0]["safe"] == "no"


def test_a_type_that_was_never_seen_is_not_known() -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("ojs", "versions", "never.seen", "--remove", "1.x", stdout=out)

    assert end.value.code == 4
    assert "no job of this type ever came with a version" in out.getvalue()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("Bad",), "type"),
        ((TYPE, "--remove", "^1.0"), "--remove"),
        ((TYPE, "--quiet", "soon"), "--quiet"),
        ((TYPE, "--look", "0"), "--look"),
    ],
)
def test_a_wrong_option_is_named(arguments: tuple[str, ...], named: str) -> None:
    with pytest.raises(CommandError, match=named):
        call_command("ojs", "versions", *arguments, stdout=StringIO())
