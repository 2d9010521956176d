"""Findings, mutes and thresholds over HTTP; events, webhooks and metrics."""

from typing import Any

import orjson
import pytest
from django.test import Client

from attention.domain.rule import Severity
from attention.models import Finding
from attention.services.look import look
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.caller import Caller
from jobs.models import Audit, Queue
from jobs.queries import ago, tick
from jobs.services.health import exposition
from jobs.services.operate.queues import pause, resume
from tests.attention.incidents import aggregated
from tests.concurrency import wait_until_complete
from tests.factories import stored
from tests.tenancy.conftest import new_key, with_keys
from tests.webhooks.conftest import Receiver, Subscribe, configure, empty, receiver, subscribe
from webhooks.services.relay import relay
from webhooks.services.send import send_due

__all__ = ["configure", "empty", "new_key", "receiver", "subscribe", "with_keys"]
pytestmark = pytest.mark.usefixtures("store", "empty")

BASE = "/ojs/v1/admin/attention"


def call(
    method: str, path: str = "", body: Any = None, *, status: int = 200, **headers: str
) -> Any:
    """Send a request and return the answer."""
    text = b"" if body is None else orjson.dumps(body)
    client = Client(headers=headers)
    answer = client.generic(method, BASE + path, text, content_type=OJS_TYPE)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def paused() -> dict[str, Any]:
    """Make an incident, and return its finding."""
    tick("promote")
    stored(3, queue="mail", type="mail.send")
    aggregated()
    pause("mail", Caller("ada"), "bad deploy")
    Queue.objects.update(paused_at=ago(600_000))
    look()
    (found,) = [one for one in call("GET")["findings"] if one["rule"] == "queue_paused"]
    return dict(found)


def test_a_finding_has_words_numbers_and_remedies(paused: dict[str, Any]) -> None:
    remedies = paused.pop("remedies")
    since = paused.pop("since")

    assert paused == {
        "id": str(Finding.objects.get(rule="queue_paused").id), "rule": "queue_paused",
        "title": "A paused queue has jobs", "subject": "mail", "subject_kind": "queue",
        "severity": "warning", "text": "Queue mail is paused, and 3 jobs wait.",
        "cause": "ada paused it: bad deploy", "ended_at": None, "jobs": 3, "tenants": 1,
        "tenant_id": None, "mute": None,
    }  # fmt: skip
    assert since.endswith("Z")
    assert remedies[0] == {
        "label": "Resume queue", "action": "resume", "target": "mail", "href": None,
    }  # fmt: skip
    assert remedies[1]["href"] == "/console/queues/mail/"


def test_the_blast_radius_compares_with_all_other_jobs(paused: dict[str, Any]) -> None:
    stored(1, queue="other", type="report")

    radius = call("GET", f"/{paused['id']}")["blast_radius"]

    assert (radius["jobs"], radius["other_jobs"]) == (3, 1)
    assert radius["shared"]["type"] == [
        {"value": "mail.send", "percent": 100.0, "other_percent": 0.0}
    ]
    assert radius["shared"]["tenant"][0]["other_percent"] == 100.0


def test_a_finding_is_muted_and_unmuted(paused: dict[str, Any]) -> None:
    path = f"/{paused['id']}"
    muted = call("POST", f"{path}/mute", {"reason": "known", "duration": "4h"})

    assert muted["mute"]["reason"] == "known"
    assert call("GET", "?state=muted")["total"] == 1
    assert Audit.objects.filter(action="attention.muted", reason="known").count() == 1
    assert call("POST", f"{path}/unmute")["mute"] is None
    assert call("GET", "?state=muted")["total"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"duration": "1h"}, "reason"),
        ({"reason": " ", "duration": "1h"}, "reason"),
        ({"reason": "x"}, "duration"),
        ({"reason": "x", "duration": "91d"}, "duration"),
        ({"reason": "x", "duration": "0s"}, "duration"),
    ],
)
def test_a_mute_that_is_wrong_names_its_field(
    paused: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    answer = call("POST", f"/{paused['id']}/mute", body, status=400)

    assert answer["error"]["details"]["field"] == field


@pytest.mark.parametrize("name", ["none", "01890000-0000-7000-8000-000000000000", "a b"])
def test_an_unknown_finding_is_not_found(store: None, name: str) -> None:
    assert call("GET", f"/{name}", status=404)["error"]["code"] == "not_found"
    body = {"reason": "x", "duration": "1h"}
    assert call("POST", f"/{name}/mute", body, status=404)["error"]["code"] == "not_found"


def test_thresholds_are_listed_and_replaced() -> None:
    rules = {one["rule"]: one for one in call("GET", "/thresholds")["rules"]}
    assert rules["queue_paused"]["thresholds"][0] == {
        "name": "after_s", "label": "Seconds since the pause", "value": 60, "default": 60,
        "minimum": 0, "maximum": 604_800,
    }  # fmt: skip

    changed = call(
        "PUT", "/thresholds/queue_late",
        {"enabled": False, "thresholds": {"slo_s": 30}, "overrides": {"mail": {"slo_s": 5}}},
    )  # fmt: skip

    assert (changed["enabled"], changed["changed"]) == (False, True)
    assert changed["thresholds"][0]["value"] == 30
    assert changed["overrides"] == {"mail": {"slo_s": 5}}
    entry = Audit.objects.get(action="attention.rule_changed")
    assert entry.data["before"]["thresholds"]["slo_s"] == 300
    assert entry.data["after"]["thresholds"]["slo_s"] == 30
    assert call("PUT", "/thresholds/queue_late", {})["thresholds"][0]["value"] == 300


@pytest.mark.parametrize(
    ("rule", "body", "field"),
    [
        ("queue_paused", {"thresholds": {"after_s": -1}}, "thresholds.after_s"),
        ("queue_paused", {"thresholds": {"after_s": True}}, "thresholds.after_s"),
        ("queue_paused", {"thresholds": {"other": 1}}, "thresholds.other"),
        ("queue_paused", {"thresholds": []}, "thresholds"),
        ("queue_paused", {"enabled": 1}, "enabled"),
        ("queue_paused", {"on": True}, "on"),
        ("queue_paused", {"overrides": {"mail": {"after_s": 1}}}, "overrides"),
        ("queue_late", {"overrides": {"mail": 5}}, "overrides.mail"),
        ("queue_late", {"overrides": {"mail": {"slo_s": 0}}}, "overrides.mail.slo_s"),
        ("queue_late", {"overrides": {str(n): {"slo_s": 1} for n in range(201)}}, "overrides"),
    ],
)
def test_settings_that_are_wrong_name_their_field(
    rule: str, body: dict[str, Any], field: str
) -> None:
    answer = call("PUT", f"/thresholds/{rule}", body, status=400)

    assert answer["error"]["details"]["field"] == field


def test_an_unknown_rule_is_not_found() -> None:
    assert call("PUT", "/thresholds/none", {}, status=404)["error"]["code"] == "not_found"


def test_an_event_and_a_webhook_tell_the_start_and_the_end(
    subscribe: Subscribe, receiver: Receiver, paused: dict[str, Any]
) -> None:
    subscribe("attention.*")
    resume("mail", Caller("ada"))
    look()
    wait_until_complete()

    relay()
    send_due()

    ((_, _, sent),) = receiver.requests
    body = orjson.loads(sent)
    assert (body["type"], body["subject"]) == ("attention.closed", paused["id"])
    assert body["data"]["text"] == paused["text"]
    answer = Client().get("/ojs/v1/events?type=attention.*").json()
    assert [one["type"] for one in answer["events"]][:2] == ["attention.closed", "attention.opened"]


def test_webhooks_tell_a_change_of_severity_and_of_a_mute(
    subscribe: Subscribe, receiver: Receiver, paused: dict[str, Any]
) -> None:
    subscribe("attention.changed", "attention.muted", "attention.unmuted")
    call("POST", f"/{paused['id']}/mute", {"reason": "known", "duration": "4h"})
    call("POST", f"/{paused['id']}/unmute")
    Finding.objects.update(severity=Severity.NOTICE)
    look()
    wait_until_complete()

    relay()
    send_due()

    bodies = [orjson.loads(sent) for _, _, sent in receiver.requests]
    told = {body["type"]: body["data"] for body in bodies}
    assert told.keys() == {"attention.changed", "attention.muted", "attention.unmuted"}
    assert {one["finding_id"] for one in told.values()} == {paused["id"]}
    assert told["attention.muted"]["muted_until"].endswith("Z")
    assert told["attention.changed"]["severity"] == "warning"


def test_a_gauge_counts_open_findings(paused: dict[str, Any]) -> None:
    exposition._cached.clear()

    lines = exposition.exposition().decode()

    assert 'ojs_attention{rule="queue_paused",severity="warning"} 1.0' in lines
