"""Events for changes of a pool's rotation. Spec: fair-scheduling 11.1; contract 20.6."""

from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from jobs.models import Event
from tests.concurrency import wait_until_complete
from tests.scheduling.conftest import event_data
from tests.scheduling.pools import get, put, send
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

REBALANCED = 92


@spec("FS-11.1-a")
def test_a_change_is_told_with_what_was_and_what_is() -> None:
    put("p", "a", "b")
    assert not event_data(REBALANCED)

    put("p", "a", "b", strategy="weighted", weights={"a": 3}, status=200)
    wait_until_complete()

    (event,) = get("events?type=scheduling.rebalanced")["events"]
    assert (event["type"], event["subject"]) == ("scheduling.rebalanced", "p")
    assert event["data"] == {
        "pool": "p",
        "previous_strategy": "round-robin",
        "new_strategy": "weighted",
        "previous_weights": {"a": 1, "b": 1},
        "new_weights": {"a": 3, "b": 1},
    }


@pytest.mark.parametrize(
    ("queues", "body"),
    [
        ("ab", {"strategy": "weighted", "weights": {"a": 4}}),
        ("ab", {"strategy": "least-loaded", "weights": {"a": 3}}),
        ("abc", {"strategy": "weighted", "weights": {"a": 3}}),
        ("a", {"strategy": "weighted", "weights": {"a": 3}}),
        ("ba", {"strategy": "weighted", "weights": {"a": 3}}),  # the order decides ties
    ],
)
def test_a_change_of_strategy_weights_or_queues_is_told(queues: str, body: dict[str, Any]) -> None:
    put("p", "a", "b", strategy="weighted", weights={"a": 3})

    put("p", *queues, status=200, **body)

    (event,) = event_data(REBALANCED)
    assert event["previous_weights"] == {"a": 3, "b": 1}
    assert [*event["new_weights"]] == [*sorted(queues)]


def test_other_changes_new_pools_and_their_ends_are_not_told() -> None:
    put("p", "a", "b")
    for body in ({}, {"concurrency": 5}, {"isolated": True},
                 {"starvation_prevention": {"min_dispatch_ratio": 0.1}}):  # fmt: skip
        put("p", "a", "b", status=200, **body)
    send("DELETE", "admin/pools/p")

    assert not event_data(REBALANCED)


def test_a_refused_change_is_not_told() -> None:
    put("q", "b", tenant_fairness={"weights": {"t": 2}})
    put("p", "a")

    answer = send("PUT", "admin/pools/p", {"queues": ["b"], "tenant_fairness": {}})

    assert answer.status_code == 409
    assert not event_data(REBALANCED)


def test_who_wants_no_such_events_sees_none() -> None:
    put("p", "a")
    put("p", "b", status=200)
    with override_settings(OJS={**settings.OJS, "EVENTS_EXCLUDE": ("scheduling.*",)}):
        wait_until_complete()

        assert get("events")["events"] == []
    assert Event.objects.filter(kind=REBALANCED).count() == 1


def test_a_changed_default_strategy_is_told() -> None:
    body = {"default_strategy": "strict"}
    for _ in range(2):
        assert send("PUT", "admin/scheduling/config", body).status_code == 200
    wait_until_complete()

    (event,) = get("events?type=scheduling.rebalanced")["events"]
    assert event["data"] == {
        "pool": "default",
        "previous_strategy": "round-robin",
        "new_strategy": "strict",
        "previous_weights": {},
        "new_weights": {},
    }


def test_other_changes_of_the_defaults_are_not_told() -> None:
    body = {"default_strategy": "round-robin", "tenant_fairness": {"default_weight": 2}}

    assert send("PUT", "admin/scheduling/config", body).status_code == 200

    assert not event_data(REBALANCED)
