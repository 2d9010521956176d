"""The API hides contents of classified jobs from users, like the console. Spec: contract 31.4."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import Audit
from tests.factories import JobFactory
from tests.jobs.api.refusals import PATHS
from tests.jobs.api.routes import views

SECRET = "4111-1111"  # noqa: S105 - stands for a value that no user may see
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
LogIn = Callable[..., Client]


@pytest.fixture
def log_in(with_keys: None) -> Iterator[LogIn]:
    """Return a function that logs in a user of a role, with extra permissions if given."""

    def make(role: str, *more: str) -> Client:
        user = User.objects.create_user(f"a {role}", is_staff=True)
        user.groups.set([Group.objects.get(name=role)])
        user.user_permissions.set(Permission.objects.filter(codename__in=more))
        client = Client()
        client.force_login(user)
        return client

    yield make
    User.objects.all().delete()


def job(state: State = State.AVAILABLE, word: str = "restricted", **facts: Any) -> Any:
    ended = {"result": {"card": SECRET}} if state is State.COMPLETED else {}
    return JobFactory.create(
        args=[SECRET], meta={"data_classification": word}, state=state, **ended, **facts
    )


@pytest.mark.parametrize("state", [State.AVAILABLE, State.COMPLETED, State.DISCARDED])
def test_no_route_that_reads_tells_a_viewer(log_in: LogIn, state: State) -> None:
    one = job(state)
    client = log_in("ojs_viewer")
    told = []
    for path, view in views():
        if "get" not in view.http_method_names or not hasattr(view, "get") or "stream" in path:
            continue
        filled = path.format(**{**PATHS, "job_id": one.id, "name": one.queue, "type": one.type})
        for query in ("", f"?state={state.value}", "?exclude_terminal=true"):
            if SECRET in client.get(f"/{filled}{query}").content.decode():
                told.append(filled + query)

    assert told == []
    shown = client.get(f"/ojs/v1/admin/jobs/{one.id}").json()
    assert shown["args"] == ["(classified)"]


def test_an_answer_to_a_change_does_not_tell_an_operator(log_in: LogIn) -> None:
    client, dead, waits = log_in("ojs_operator"), job(State.DISCARDED), job()

    def send(method: str, path: str, body: Any = None) -> str:
        answer = client.generic(
            method, f"/ojs/v1{path}", json.dumps(body or {}), content_type=OJS_TYPE,
            headers=OWN_PAGE,
        )  # fmt: skip
        assert answer.status_code == 200, answer.content
        return answer.content.decode()

    for root in ("/jobs", "/admin/jobs"):
        assert SECRET not in send("PATCH", f"{root}/{waits.id}", {"priority": 3})
    assert SECRET not in send("POST", f"/admin/dead-letter/{dead.id}/retry")
    assert SECRET not in send("DELETE", f"/jobs/{waits.id}")
    assert SECRET not in send("POST", f"/admin/jobs/{waits.id}/retry")
    assert SECRET not in send("POST", f"/admin/jobs/{waits.id}/cancel")


def test_who_may_is_shown_one_job_and_written_down(log_in: LogIn) -> None:
    one = job()
    client = log_in("ojs_viewer", "view_classified_job")

    assert SECRET in client.get(f"/ojs/v1/jobs/{one.id}").content.decode()
    assert SECRET not in client.get("/ojs/v1/jobs").content.decode()

    entry = Audit.objects.get(action="job.arguments_seen")
    assert (entry.actor, entry.target) == ("user:a ojs_viewer", one.id)


def test_keys_and_other_jobs_are_as_before(
    log_in: LogIn, new_key: Callable[..., dict[str, str]]
) -> None:
    secret, plain = job(), job(word="internal")

    by_key = Client().get(f"/ojs/v1/jobs/{secret.id}", headers=new_key("operator"))
    assert SECRET in by_key.content.decode()
    assert SECRET in log_in("ojs_viewer").get(f"/ojs/v1/jobs/{plain.id}").content.decode()
    assert not Audit.objects.filter(action="job.arguments_seen").exists()
