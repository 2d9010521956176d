"""Configurable rules: types to refuse, and defaults for omitted members.

Spec: contract 28.1, 31.3.
"""

from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.models import Job
from tests.spec import spec


def send(api: Client, path: str, body: Any) -> Any:
    return api.post(f"/ojs/v1/{path}", body, content_type=OJS_TYPE)


def job(**more: Any) -> dict[str, Any]:
    return {"type": "mail.send", "args": [], **more}


@pytest.fixture
def choose(settings: Any) -> Any:
    """Return a function that adds settings to `settings.OJS`."""

    def more(**ojs: Any) -> None:
        settings.OJS = {**settings.OJS, **ojs}

    return more


@pytest.mark.parametrize(
    ("kind", "status"),
    [("mail.send", 201), ("mail.bulk.send", 201), ("report", 201), ("mail", 422), ("a.b", 422)],
)
@spec("contract 31.3")
def test_types_that_are_not_listed_are_refused(
    api: Client, choose: Any, kind: str, status: int
) -> None:
    choose(JOB_TYPES=("mail.*", "report"))

    answer = send(api, "jobs", {"type": kind, "args": []})

    assert answer.status_code == status
    if status == 422:
        error = answer.json()["error"]
        assert (error["code"], error["details"]["field"]) == ("invalid_request", "type")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("jobs/batch", {"jobs": [job(), job(type="a.b")]}),
        ("jobs/bulk", {"jobs": [job(type="a.b")]}),
        ("workflows", {"type": "chain", "steps": [job(), job(type="a.b")]}),
        ("cron", {"name": "n", "cron": "* * * * *", "job_template": job(type="a.b")}),
    ],
)
@spec("contract 31.3")
def test_every_way_to_a_job_asks_for_its_type(
    api: Client, choose: Any, path: str, body: Any
) -> None:
    choose(JOB_TYPES=("mail.*",))

    answer = send(api, path, body)

    assert 400 <= answer.status_code < 500, answer.content
    assert b"not accepted" in answer.content
    assert not Job.objects.exists()


@spec("contract 31.3")
def test_sec_012_unknown_attributes_are_named_and_refused(api: Client, choose: Any) -> None:
    sent = job(colour="red", shape=1, version="1.0", state="completed", tags=["x"])
    assert send(api, "jobs", sent).json()["job"]["colour"] == "red"

    choose(STRICT_ATTRIBUTES=True)
    answer = send(api, "jobs", sent)

    assert answer.status_code == 422
    details = answer.json()["error"]["details"]
    assert details["field"] == "colour"
    assert [one["field"] for one in details["errors"]] == ["colour", "shape"]
    known = {name: value for name, value in sent.items() if name not in {"colour", "shape"}}
    assert send(api, "jobs", known).status_code == 201


@pytest.mark.parametrize("text", ["a\nb", "a\r\nX-Evil: 1", "\r"])
@spec("contract 31.3")
def test_line_breaks_in_meta_are_kept_or_refused(api: Client, choose: Any, text: str) -> None:
    sent = job(meta={"note": text, "list": ["a\nb"]})
    assert send(api, "jobs", sent).json()["job"]["meta"]["note"] == text

    choose(META_REJECT_NEWLINES=True)
    answer = send(api, "jobs", sent)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "meta.note"


def exhaust(api: Client, **retry: Any) -> tuple[str, list[str]]:
    """Let a job fail for good; return its id and the ids in the dead letter."""
    stored = send(api, "jobs", job(retry={"max_attempts": 1, **retry})).json()["job"]
    assert send(api, "workers/fetch", {"queues": ["default"]}).json()["jobs"]
    send(api, "workers/nack", {"job_id": stored["id"], "error": {"code": "x", "message": "no"}})
    assert api.get(f"/ojs/v1/jobs/{stored['id']}").json()["job"]["state"] == "discarded"
    dead = api.get("/ojs/v1/dead-letter").json()["jobs"]
    return stored["id"], [one["id"] for one in dead]


@pytest.mark.parametrize(
    ("default", "retry", "is_dead"),
    [
        ("discard", {}, False),
        ("dead_letter", {}, True),
        ("dead_letter", {"on_exhaustion": "discard"}, False),
        ("discard", {"on_exhaustion": "dead_letter"}, True),
    ],
)
@spec("contract 28.1")
def test_the_server_says_where_failed_jobs_go_when_their_policy_does_not(
    api: Client, choose: Any, default: str, retry: dict[str, Any], is_dead: bool
) -> None:
    choose(DEFAULT_ON_EXHAUSTION=default)

    job_id, dead = exhaust(api, **retry)

    assert (job_id in dead) is is_dead


@spec("contract 28.1")
def test_a_queues_default_policy_leaves_it_to_the_server(api: Client, choose: Any) -> None:
    choose(DEFAULT_ON_EXHAUSTION="dead_letter")
    body = {"default_retry": {"max_attempts": 1}}
    assert api.put("/ojs/v1/queues/default/config", body, content_type=OJS_TYPE).status_code == 200

    stored = send(api, "jobs", job()).json()["job"]

    assert stored["retry"]["on_exhaustion"] == "dead_letter"
    assert stored["retry"]["max_attempts"] == 1
