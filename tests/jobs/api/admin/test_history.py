"""The history of the configuration by the admin API: the list, a change, its restore, its undo."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import JSON_TYPE
from jobs.domain.access.caller import Caller
from jobs.models import Audit, ConfigChange, Queue
from jobs.services.lanes import queue_config

BASE = "/ojs/v1/admin/config/history"


@pytest.fixture
def changes(store: None) -> list[int]:
    """Change a queue twice; return the numbers of the changes."""
    for size in (5, 9):
        queue_config.change("mail", {"concurrency": size}, Caller("ada", reason="load"))
    return list(ConfigChange.objects.order_by("id").values_list("id", flat=True))


def restore(api: Client, number: int, **body: Any) -> Any:
    return api.post(f"{BASE}/{number}/restore", body, content_type=JSON_TYPE)


def test_the_list_has_both_documents_and_filters(api: Client, changes: list[int]) -> None:
    queue_config.change("sms", {"concurrency": 1}, Caller("bob"))

    found = api.get(BASE, {"kind": "queue", "name": "mail"}).json()

    assert found["total"] == 2
    latest = found["changes"][0]
    assert (latest["id"], latest["actor"], latest["reason"]) == (changes[1], "ada", "load")
    assert (latest["before"], latest["after"]) == ({"concurrency": 5}, {"concurrency": 9})
    assert api.get(BASE, {"actor": "bob"}).json()["total"] == 1
    assert api.get(BASE, {"until": "1h"}).json()["total"] == 0


def test_a_change_shows_what_a_restore_would_change(api: Client, changes: list[int]) -> None:
    found = api.get(f"{BASE}/{changes[0]}").json()

    [would] = found["restore"]["differences"]
    assert would == {
        "path": "concurrency", "before": 9, "after": 5, "added": False, "removed": False,
    }  # fmt: skip


def test_a_version_is_restored_and_the_restore_undone(api: Client, changes: list[int]) -> None:
    expected = api.get(f"{BASE}/{changes[0]}").json()["restore"]["expected"]

    answer = restore(api, changes[0], confirm=True, expected=expected, reason="too fast")

    assert answer.status_code == 200
    assert answer.json()["restore"]["differences"] == []
    assert Queue.objects.get(name="mail").config == {"concurrency": 5}
    assert Audit.objects.latest("id").reason == "too fast"
    undo = f"/ojs/v1/admin/operations/{answer['X-OJS-Operation']}/undo"
    assert api.post(undo, {"confirm": True}, content_type=JSON_TYPE).status_code == 200
    assert Queue.objects.get(name="mail").config == {"concurrency": 9}


def test_a_restore_is_refused_after_another_change(api: Client, changes: list[int]) -> None:
    expected = api.get(f"{BASE}/{changes[0]}").json()["restore"]["expected"]
    queue_config.change("mail", {"concurrency": 7}, Caller("bob"))

    answer = restore(api, changes[0], confirm=True, expected=expected)

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "conflict"
    assert Queue.objects.get(name="mail").config == {"concurrency": 7}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"expected": "x"}, "confirm"),
        ({"confirm": True}, "expected"),
        ({"confirm": True, "expected": "x" * 33}, "expected"),
        ({"confirm": True, "expected": 5}, "expected"),
        ({"confirm": True, "expected": "x", "reason": "r" * 1001}, "reason"),
    ],
)
def test_a_wrong_restore_names_the_field(
    api: Client, changes: list[int], body: dict[str, Any], field: str
) -> None:
    answer = restore(api, changes[0], **body)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == field


def test_wrong_filters_name_the_field(api: Client, store: None) -> None:
    for query in ({"kind": "job"}, {"since": "yesterday"}, {"name": "a\0"}):
        answer = api.get(BASE, query)
        assert answer.status_code == 400
        assert answer.json()["error"]["details"]["field"] == next(iter(query))


def test_an_unknown_change_is_not_found(api: Client, store: None) -> None:
    assert api.get(f"{BASE}/{2**70}").status_code == 404
    assert restore(api, 1, confirm=True, expected="x").status_code == 404


def test_a_key_needs_the_scopes_of_the_kind(
    api: Client, new_key: Callable[..., dict[str, str]], changes: list[int]
) -> None:
    read, write = new_key("ojs:admin:read"), new_key("ojs:admin:write")
    limited = new_key("ojs:admin:write", queues_enqueue=("sms",))
    found = api.get(f"{BASE}/{changes[0]}", headers=read).json()
    body = {"confirm": True, "expected": found["restore"]["expected"]}

    def status(headers: dict[str, str]) -> int:
        path = f"{BASE}/{changes[0]}/restore"
        return api.post(path, body, content_type=JSON_TYPE, headers=headers).status_code

    assert status(read) == 403
    assert status(limited) == 403
    assert status(write) == 200
