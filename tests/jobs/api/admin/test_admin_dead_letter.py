"""Dead letter endpoints under both prefixes. Spec: contract 28.2, 28.4; EXT-DLQ-001 to 004."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import JSON_TYPE
from jobs.models import Job
from jobs.services.lanes.queue_config import configure
from tests.factories import stored_ids
from tests.jobs.services.outcome.test_dead_letter import dead
from tests.spec import spec

Keys = Callable[..., dict[str, str]]
PREFIXES = ("/ojs/v1/dead-letter", "/ojs/v1/admin/dead-letter")
BOTH = pytest.mark.parametrize("prefix", PREFIXES)


def send(api: Client, method: str, path: str, body: str = "", **more: Any) -> Any:
    return api.generic(method, path, body, content_type=JSON_TYPE, **more)


@BOTH
@spec("DLQ-001")
def test_list_has_jobs_items_and_both_paginations(api: Client, prefix: str) -> None:
    job_id = dead()[0]

    found = api.get(prefix).json()

    assert found["jobs"] == found["items"]
    only = found["items"][0]
    assert (only["id"], only["replay_count"], len(only["errors"])) == (job_id, 0, 1)
    assert only["discarded_at"]
    named = {"total", "limit", "offset", "has_more", "page", "per_page"}
    assert named <= found["pagination"].keys()
    assert found["total"] == 1


@BOTH
@pytest.mark.parametrize(
    ("query", "total"),
    [
        ({"queue": "default"}, 1), ({"queue": "b"}, 0), ({"type": "tests.*"}, 1),
        ({"error_type": "handler_error"}, 1), ({"error_type": "other"}, 0), ({"q": "broke"}, 1),
        ({"since": "1h"}, 1), ({"until": "1h"}, 0), ({"since": "2099-01-01T00:00:00Z"}, 0),
    ],
)  # fmt: skip
@spec("contract 28.2")
def test_list_is_filtered(api: Client, prefix: str, query: dict[str, str], total: int) -> None:
    dead()

    assert api.get(prefix, query).json()["total"] == total


@BOTH
@spec("DLQ-002")
def test_stats(api: Client, prefix: str) -> None:
    dead()

    found = api.get(f"{prefix}/stats").json()

    assert (found["total"], found["by_queue"]) == (1, {"default": 1})
    assert found["retention"] == {"max_age": "P180D", "max_count": 10_000}
    assert found["retention_by_queue"] == {"default": found["retention"]}
    assert "is_partial" not in found


@BOTH
@spec("contract 28.2")
def test_stats_tell_the_retention_in_force(api: Client, prefix: str, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "RETENTION_DEAD_LETTER": "P9D", "RETENTION_DEAD_LETTER_JOBS": 7}
    for queue, own in (("a", {"max_age": "PT36H", "max_count": 0}), ("b", {"max_count": 20_000})):
        configure(queue, {"retention": {"dead_letter": own}})
        dead(queue=queue)
    dead(queue="c")

    found = api.get(f"{prefix}/stats").json()

    assert found["retention"] == {"max_age": "P9D", "max_count": 7}
    assert found["retention_by_queue"] == {
        "a": {"max_age": "P1DT12H", "max_count": None},
        "b": {"max_age": "P9D", "max_count": 20_000},
        "c": {"max_age": "P9D", "max_count": 7},
    }


@pytest.mark.parametrize(("most", "is_partial"), [(2, False), (3, True), (0, True)])
@spec("contract 28.2")
def test_stats_say_when_a_queue_keeps_more_than_is_counted(
    api: Client, monkeypatch: pytest.MonkeyPatch, most: int, is_partial: bool
) -> None:
    monkeypatch.setattr("jobs.services.outcome.dead_letter.MOST", 2)
    configure("default", {"retention": {"dead_letter": {"max_count": most}}})
    for _ in range(2):
        dead()

    assert api.get("/ojs/v1/dead-letter/stats").json().get("is_partial", False) is is_partial


@BOTH
@spec("contract 28.2")
def test_detail_and_404_outside_the_dead_letter(api: Client, prefix: str) -> None:
    job_id = dead()[0]

    found = api.get(f"{prefix}/{job_id}").json()

    assert found["id"] == found["job"]["id"] == job_id
    assert api.get(f"{prefix}/{stored_ids(1)[0]}").status_code == 404


@BOTH
@spec("DLQ-003")
def test_retry_then_a_second_one_is_a_conflict(api: Client, prefix: str) -> None:
    job_id = dead()[0]

    first = send(api, "POST", f"{prefix}/{job_id}/retry", '{"override": {"priority": 4}}')
    second = send(api, "POST", f"{prefix}/{job_id}/retry", "null")

    assert (first.status_code, second.status_code) == (200, 409)
    assert first.json()["state"] == first.json()["job"]["state"] == "available"
    assert (first.json()["attempt"], first.json()["priority"]) == (0, 4)


@spec("DLQ-004")
def test_delete_answers_as_each_prefix_wants(api: Client) -> None:
    one, two = dead(2)

    core = api.delete(f"{PREFIXES[0]}/{one}")
    admin = api.delete(f"{PREFIXES[1]}/{two}")

    assert (core.status_code, core.json()["deleted"]) == (200, True)
    assert (admin.status_code, admin.content) == (204, b"")
    assert api.get(f"/ojs/v1/jobs/{one}").status_code == 404


@BOTH
@spec("contract 28.2")
def test_bulk_retry_needs_confirmation(api: Client, prefix: str) -> None:
    dead(3)
    path = f"{prefix}/retry"

    for body in ("{}", '{"confirm": false}', '{"filter": {"wrong": 1}}', '{"confirm": "true"}'):
        answer = send(api, "POST", path, body)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "confirmation_required"
    found = send(api, "POST", path, '{"filter": {}, "confirm": true}').json()

    assert (found["action"], found["matched"], found["succeeded"]) == ("retry", 3, 3)
    assert (found["retried"], found["failed"], found["errors"]) == (3, 0, [])


@BOTH
@spec("contract 28.2")
def test_misspelt_filter_deletes_nothing(api: Client, prefix: str) -> None:
    dead(2)

    answer = send(api, "DELETE", prefix, '{"filter": {"queu": "a"}, "confirm": true}')

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "filter.queu"
    assert Job.objects.count() == 2


@BOTH
@spec("contract 28.2")
def test_purge_deletes_what_is_old_enough(api: Client, prefix: str) -> None:
    dead(2)

    young = send(api, "POST", f"{prefix}/purge?older_than=7d").json()
    everything = send(api, "DELETE", prefix, '{"older_than": "PT0S", "confirm": true}').json()

    assert young["deleted"] == 0
    assert everything == {"deleted": 2, "purged_count": 2}
    assert send(api, "POST", f"{prefix}/purge?older_than=old").status_code == 400


@spec("contract 28.4")
def test_rules_are_kept_as_sent(api: Client) -> None:
    path = f"{PREFIXES[1]}/rules"
    rule = {"name": "mail", "filter": {"queue": "mail"}, "delay": "PT30M", "max_replays": 2}

    answer = api.put(path, {"rules": [rule, {"name": "rest"}]}, content_type=JSON_TYPE)

    assert answer.json()["rules"] == [
        {**rule, "enabled": True},
        {"name": "rest", "filter": {}, "delay": "PT1H", "max_replays": 3, "enabled": True},
    ]
    assert api.get(path).json() == answer.json()


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ({}, "rules[0].name"),
        ({"name": "a", "delay": "1 hour"}, "rules[0].delay"),
        ({"name": "a", "max_replays": 0}, "max_replays"),
        ({"name": "a", "filter": {"color": "x"}}, "rules[0].filter.color"),
        ({"name": "a", "enabled": "yes"}, "rules[0].enabled"),
        ({"name": "a", "delays": "PT1H"}, "rules[0].delays"),
    ],
)
@spec("contract 28.4")
def test_rule_that_says_nonsense_is_refused(api: Client, rule: dict[str, Any], name: str) -> None:
    answer = api.put(f"{PREFIXES[1]}/rules", {"rules": [rule]}, content_type=JSON_TYPE)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == name


@BOTH
@spec("contract 28.5")
def test_bound_key_sees_retries_and_purges_its_own_alone(
    api: Client, new_key: Keys, prefix: str
) -> None:
    mine, other = dead(2)
    Job.objects.filter(id=mine).update(tenant="north")
    headers = new_key("admin", tenant="north")

    assert api.get(prefix, headers=headers).json()["total"] == 1
    assert api.get(f"{prefix}/stats", headers=headers).json()["total"] == 1
    assert api.get(f"{prefix}/{other}", headers=headers).status_code == 404
    body = '{"filter": {"tenant": "_default"}, "confirm": true}'
    assert send(api, "POST", f"{prefix}/retry", body, headers=headers).json()["matched"] == 1
    assert send(api, "POST", f"{prefix}/purge", headers=headers).json()["deleted"] == 0
    assert Job.objects.filter(id=other, state=8).exists()
