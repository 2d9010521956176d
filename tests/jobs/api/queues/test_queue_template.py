"""`/queues/_default/config`: the configuration of new queues. Spec: contract 10.4, 24.4."""

from typing import Any

import pytest
from django.test import Client

from jobs.models import Audit
from tests.jobs.api.refusals import assert_refused
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

PATH = "/ojs/v1/queues/_default/config"
ADMIN = "/ojs/v1/admin/queues/_default/config"


def put(api: Client, path: str, body: Any) -> Any:
    """Send a change."""
    return api.put(path, body, content_type="application/json")


@pytest.mark.parametrize("path", [PATH, ADMIN])
@spec("contract 10.4")
def test_the_template_is_set_shown_and_taken_over(api: Client, path: str) -> None:
    assert api.get(PATH).json()["config"] == {}

    answer = put(api, path, {"max_size": 7, "retention": "7d"})

    assert answer.status_code == 200
    wanted = {
        "backpressure": {"max_depth": 7}, "max_size": 7,
        "retention": {"completed": "P7D", "discarded": "P7D"},
    }  # fmt: skip
    assert answer.json() == {
        "name": "_default", "queue": "_default", "config": wanted, "configuration": wanted,
    }  # fmt: skip
    assert api.get(PATH).json() == answer.json()
    made = api.post("/ojs/v1/queues", {"name": "new"}, content_type="application/json")
    assert made.json()["config"] == wanted
    entry = Audit.objects.get(target="_default")
    assert (entry.action, entry.data) == (
        "queue.config_changed", {"changed": ["max_size", "retention"]},
    )  # fmt: skip


@spec("contract 10.4")
def test_the_template_is_no_queue(api: Client) -> None:
    put(api, PATH, {"concurrency": 1})

    assert api.get("/ojs/v1/queues").json()["queues"] == []
    assert api.get("/ojs/v1/admin/queues").json()["total"] == 0
    assert api.get("/ojs/v1/queues/_default").status_code == 404
    assert api.get("/ojs/v1/queues/_default/stats").status_code == 404
    assert api.delete("/ojs/v1/queues/_default").status_code == 404
    assert api.post("/ojs/v1/queues/_default/pause").status_code == 400
    refused = put(api, "/ojs/v1/admin/queues/_default/rate-limit", {"max_per_second": 1})
    assert refused.status_code == 400


@spec("contract 24.4")
def test_wrong_members_are_refused_by_name(api: Client) -> None:
    for path, body, field in (
        (PATH, {"concurrency": "x"}, "concurrency"),
        (ADMIN, {"unknown": 1}, "unknown"),
        (ADMIN, {"paused": True}, "paused"),
    ):
        assert assert_refused(put(api, path, body), 400)["details"]["field"] == field
    assert put(api, ADMIN, {"paused": False, "concurrency": 2}).status_code == 200
    assert put(api, PATH, {"unknown": 1}).status_code == 200
