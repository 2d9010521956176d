"""POST /ojs/v1/admin/workers/{id}/quiet, terminate, resume. Spec: contract 9.4, 33 GS-13 to 16."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.domain.states import State
from jobs.models import Worker
from tests.factories import JobFactory, stored
from tests.spec import spec

OJS = "application/openjobspec+json"
Keys = Callable[..., dict[str, str]]
Beat = Callable[..., str]
Tell = Callable[[str], Any]


@pytest.fixture
def beat(api: Client) -> Beat:
    """Return a function that sends a heartbeat and returns the directive of the answer."""

    def send(**report: Any) -> str:
        body = {"worker_id": "w1", **report}
        answer = api.post("/ojs/v1/workers/heartbeat", body, content_type=OJS)
        assert answer.status_code == 200
        return str(answer.json()["state"])

    return send


@pytest.fixture
def tell(api: Client) -> Tell:
    """Return a function that gives the worker a directive."""
    return lambda verb: api.post(f"/ojs/v1/admin/workers/w1/{verb}", content_type=OJS)


@pytest.mark.parametrize(
    ("verb", "directive"), [("quiet", "quiet"), ("terminate", "terminate"), ("resume", "running")]
)
@spec("GS-15")
def test_a_directive_is_answered_and_told(
    beat: Beat, tell: Tell, verb: str, directive: str
) -> None:
    beat()

    answer = tell(verb)

    assert answer.status_code == 200
    told = {"worker_id": "w1", "id": "w1", "directive": directive}
    assert answer.json() | told == answer.json()
    assert [beat(), beat(active_jobs=3)] == [directive, directive]  # until obeyed or resumed


@spec("GS-7")
def test_a_failure_for_shutdown_is_retried_as_any_other(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE, retry={"max_attempts": 2})
    body = {"job_id": job.id, "error": {"type": "ShutdownError", "message": "leaving"}}

    answer = api.post("/ojs/v1/workers/nack", body, content_type="application/json")

    assert (answer.json()["state"], answer.json()["attempt"]) == ("retryable", 1)


@spec("GS-15")
def test_resume_ends_quiet(beat: Beat, tell: Tell) -> None:
    beat()
    tell("quiet")

    tell("resume")

    assert beat() == "running"


@spec("GS-15")
def test_there_is_no_way_back_from_terminate(beat: Beat, tell: Tell) -> None:
    beat()
    tell("terminate")

    for verb in ("resume", "quiet"):
        answer = tell(verb)
        assert answer.status_code == 409
        assert answer.json()["error"]["details"] == {"worker_id": "w1", "directive": "terminate"}
    assert tell("terminate").status_code == 200
    assert beat() == "terminate"


@pytest.mark.parametrize(
    ("directive", "report", "told"),
    [
        ("quiet", "running", "quiet"),
        ("quiet", "terminate", "terminate"),
        ("terminate", "quiet", "terminate"),
        (None, "quiet", "quiet"),
        (None, "draining", "quiet"),
        (None, "terminate", "terminate"),
        (None, "running", "running"),
    ],
)
@spec("GS-10")
def test_the_stronger_of_directive_and_report_is_told(
    beat: Beat, tell: Tell, directive: str | None, report: str, told: str
) -> None:
    beat()
    if directive:
        tell(directive)

    assert beat(state=report, active_jobs=1) == told


@spec("GS-16")
def test_a_worker_that_runs_again_is_told_so_unless_a_directive_stands(
    beat: Beat, tell: Tell
) -> None:
    beat(state="draining")
    assert beat(state="running") == "running"

    tell("quiet")

    assert beat(state="running") == "quiet"


@pytest.mark.parametrize("directive", ["quiet", "terminate"])
@spec("GS-13")
def test_fetch_of_a_worker_with_a_directive_gets_no_jobs(
    api: Client, beat: Beat, tell: Tell, directive: str
) -> None:
    stored(1)
    beat()
    tell(directive)

    body = {"queues": ["default"], "worker_id": "w1"}
    answer = api.post("/ojs/v1/workers/fetch", body, content_type=OJS)

    assert answer.json() == {"jobs": [], "directive": directive}


@pytest.mark.parametrize("worker", ["unknown", "a%2Fb"])
def test_a_directive_for_an_unknown_worker_is_not_found(api: Client, worker: str) -> None:
    answer = api.post(f"/ojs/v1/admin/workers/{worker}/quiet", content_type=OJS)

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
    assert not Worker.objects.exists()


def test_an_unknown_verb_is_no_resource(api: Client, beat: Beat) -> None:
    beat()

    assert api.post("/ojs/v1/admin/workers/w1/dance", content_type=OJS).status_code == 404


def test_directives_need_the_right_to_administer(api: Client, new_key: Keys) -> None:
    Worker.objects.create(id="w1")

    def status(headers: dict[str, str] | None = None) -> int:
        path = "/ojs/v1/admin/workers/w1/quiet"
        return api.post(path, content_type=OJS, headers=headers).status_code

    assert status() == 401
    assert status(new_key("operator")) == 403
    assert status(new_key("ojs:admin:write")) == 200
