"""Metrics of limits and bounds. Spec: contract 27, 32.3."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from prometheus_client import Metric

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import QueueFull
from jobs.models import Limit
from jobs.services.dispatch.fetch import fetch
from jobs.services.health import exposition
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from tests.factories import stored
from tests.jobs.services.health.test_exposition import fresh, read, values
from tests.spec import spec

__all__ = ["fresh", "read"]  # fixtures

pytestmark = pytest.mark.usefixtures("store")

Read = Callable[[], dict[str, Metric]]
ACTIVE, WAITING = "ojs_rate_limit_active", "ojs_rate_limit_waiting"
WAITS = "ojs_rate_limit_wait_duration_seconds"


def limited(number: int, key: str = "k", **members: object) -> None:
    """Store jobs of a limit."""
    stored(number, rate_limit={"key": key, "concurrency": 2}, **members)


def claim(count: int = 10) -> list[str]:
    """Fetch and return the ids."""
    return [job.id for job in fetch(FetchRequest(("default",), count=count)).jobs]


@spec("contract 27")
def test_families_have_the_names_types_and_labels_of_the_contract(read: Read) -> None:
    configure("default", {"backpressure": {"max_depth": 5, "strategy": "drop_oldest"}})
    configure("full", {"backpressure": {"max_depth": 1}})
    limited(5)
    claim()
    limited(4)
    stored(1, queue="full")
    with pytest.raises(QueueFull):
        stored(1, queue="full")

    found = read()

    shapes = {
        name: (family.type, *{frozenset(s.labels.keys() - {"le"}) for s in family.samples})
        for name, family in found.items()
        if name.startswith(("ojs_rate_limit", "ojs_backpressure"))
    }
    assert shapes == {
        ACTIVE: ("gauge", {"key"}),
        WAITING: ("gauge", {"key"}),
        "ojs_rate_limit_exceeded": ("counter", {"key", "strategy"}),
        WAITS: ("histogram", {"key"}),
        "ojs_backpressure_rejected": ("counter", {"queue"}),
        "ojs_backpressure_dropped": ("counter", {"queue"}),
        "ojs_backpressure_pressure": ("gauge", {"queue"}),
    }
    assert values(found["ojs_backpressure_rejected"], "_total") == {("full",): 1}
    assert values(found["ojs_backpressure_dropped"], "_total") == {("default",): 2}
    assert values(found["ojs_backpressure_pressure"]) == {("default",): 1.0, ("full",): 1.0}
    assert values(found["ojs_rate_limit_exceeded"], "_total") == {("k", "concurrency"): 1}


@spec("contract 27")
def test_active_and_waiting_are_those_of_now_and_waits_only_grow(read: Read) -> None:
    limited(5)
    stored(3, queue="other")
    started = claim()

    found = read()
    assert (values(found[ACTIVE]), values(found[WAITING])) == ({("k",): 2}, {("k",): 3})
    assert values(found[WAITS], "_count") == {("k",): 2}

    ack([Ack(job_id) for job_id in started])
    found = read()
    assert (values(found[ACTIVE]), values(found[WAITING])) == ({("k",): 0}, {("k",): 3})
    claim()
    found = read()
    assert values(found[WAITS], "_count") == {("k",): 4}
    assert values(found[WAITS], "_bucket")["k", "3600.0"] == 4


@spec("contract 27")
def test_limits_of_queues_have_the_names_of_the_api_and_tenants_have_none(read: Read) -> None:
    configure("default", {"concurrency": 1})
    lanes.set_weight_and_cap("_default", weight=1, cap=1)
    stored(3)
    claim()
    claim()

    found = read()

    assert values(found[ACTIVE]) == {("queue:default",): 1}
    assert values(found[WAITING]) == {("queue:default",): 2}
    assert values(found["ojs_rate_limit_exceeded"], "_total") == {
        ("queue:default", "concurrency"): 1
    }


@spec("contract 27")
def test_tenants_share_the_label_of_a_key(read: Read) -> None:
    for tenant in ("t1", "t2"):
        limited(3, meta={"tenant_id": tenant})
    claim()

    found = read()

    assert values(found[ACTIVE])["k",] + values(found[WAITING])["k",] == 6


@spec("contract 27")
def test_keys_beyond_two_hundred_share_a_label(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "MOST_LABELS", 2)
    for key in ("a", "b", "c", "d"):
        limited(1, key)

    found = read()

    assert values(found[WAITING]) == {("a",): 1, ("b",): 1, ("_other",): 2}


@spec("contract 27")
def test_every_process_reads_the_same_numbers_from_the_database(read: Read) -> None:
    limited(3)
    claim()
    Limit.objects.update(updated_at=timezone.now())
    first = {name: values(family) for name, family in read().items() if "limit" in name}
    exposition._cached.clear()  # as in another process, whose cache is empty

    assert {name: values(family) for name, family in read().items() if "limit" in name} == first
