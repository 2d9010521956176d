"""Tenants in metrics. Spec: MT 11.2, 15.4, contract 21.6, MT-11.2-a, MT-15.4-a."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from jobs.domain.states import State
from jobs.loops import run_once
from jobs.models import TenantLabel
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.health import exposition as page
from jobs.services.upkeep.reset import clear_caches
from tenancy.services import metrics
from tests.concurrency import wait_until_complete
from tests.factories import FAR, DraftFactory, JobFactory, stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Read = Callable[[], dict[str, Metric]]
OWN = {
    "ojs_tenant_jobs_active": ("gauge", {"tenant_id", "queue"}),
    "ojs_tenant_jobs_enqueued": ("counter", {"tenant_id", "queue"}),
    "ojs_tenant_jobs_processed": ("counter", {"tenant_id", "queue"}),
    "ojs_tenant_jobs_failed": ("counter", {"tenant_id", "queue"}),
    "ojs_tenant_fairness_share": ("gauge", {"tenant_id"}),
    "ojs_tenant_queue_depth": ("gauge", {"tenant_id", "queue"}),
}
LABELLED = (
    *(f"ojs_job_{verb}" for verb in ("enqueued", "completed", "failed", "retried", "cancelled")),
    "ojs_job_expired", "ojs_job_queue_time_seconds", "ojs_job_duration_seconds", "ojs_queue_depth",
    "ojs_workers_busy",
)  # fmt: skip


@pytest.fixture
def read() -> Iterator[Read]:
    """Return a function that aggregates the events and parses the exposition."""

    def families() -> dict[str, Metric]:
        wait_until_complete()
        for _ in range(2):  # the first run on an empty store only finds the start position
            run_once(["fold"])
        page._cached.clear()
        return {one.name: one for one in text_string_to_metric_families(page.exposition().decode())}

    yield families
    page._cached.clear()


@pytest.fixture
def rules(settings: Any) -> Any:
    """Return a function that changes settings of tenancy for a test."""

    def change(**chosen: Any) -> None:
        settings.OJS_TENANCY = {**settings.OJS_TENANCY, **chosen}

    return change


def values(family: Metric, *names: str) -> dict[tuple[str, ...], float]:
    """Return the samples above 0 by the values of these labels."""
    return {
        tuple(sample.labels[name] for name in names): sample.value
        for sample in family.samples
        if sample.value and not sample.name.endswith(("_created", "_bucket", "_sum"))
    }


def tenants(found: dict[str, Metric]) -> set[str]:
    """Return all values of the tenant label."""
    samples = (sample for family in found.values() for sample in family.samples)
    return {sample.labels["tenant_id"] for sample in samples if "tenant_id" in sample.labels}


def of(tenant: str) -> dict[str, Any]:
    """Return the members of a job that name a tenant."""
    return {"meta": {"tenant_id": tenant}}


@spec("MT-11.2-a")
def test_families_of_tenants_have_the_names_types_and_labels_of_the_contract(
    read: Read,
) -> None:
    JobFactory.create(state=State.COMPLETED, **of("acme"))
    JobFactory.create(state=State.ACTIVE, **of("acme"))
    stored(1, **of("acme"))

    found = {name: one for name, one in read().items() if name.startswith("ojs_tenant_")}

    assert {
        name: (one.type, *{frozenset(sample.labels) for sample in one.samples})
        for name, one in found.items()
    } == OWN


@spec("MT-11.2-a")
def test_families_of_tenants_count_what_each_has(read: Read) -> None:
    JobFactory.create(state=State.COMPLETED, queue="q", **of("acme"))
    JobFactory.create(state=State.DISCARDED, queue="q", **of("acme"))
    JobFactory.create(state=State.ACTIVE, queue="q", **of("beta"))
    stored(3, queue="q", **of("acme"))
    stored(2, queue="r", scheduled_at=FAR, **of("beta"))
    stored(1, queue="r", pending=True, **of("beta"))

    found = read()

    def shown(name: str) -> dict[tuple[str, ...], float]:
        return values(found[name], "tenant_id", "queue")

    assert shown("ojs_tenant_jobs_active") == {("beta", "q"): 1}
    assert shown("ojs_tenant_queue_depth") == {("acme", "q"): 3, ("beta", "r"): 2}
    assert shown("ojs_tenant_jobs_enqueued") == {
        ("acme", "q"): 5, ("beta", "q"): 1, ("beta", "r"): 3,
    }  # fmt: skip
    assert shown("ojs_tenant_jobs_processed") == {("acme", "q"): 2}
    assert shown("ojs_tenant_jobs_failed") == {("acme", "q"): 1}
    shares = values(found["ojs_tenant_fairness_share"], "tenant_id")
    assert shares == {("acme",): pytest.approx(2 / 3), ("beta",): pytest.approx(1 / 3)}


@spec("D-MT-15")
def test_other_metrics_of_jobs_and_queues_carry_the_tenant(read: Read) -> None:
    JobFactory.create(state=State.COMPLETED, queue="q", **of("acme"))
    JobFactory.create(state=State.ACTIVE, queue="q", **of("beta"))
    stored(2, queue="q")

    found = read()

    for name in LABELLED:
        assert {"tenant_id" in sample.labels for sample in found[name].samples} == {True}, name
    depth = values(found["ojs_queue_depth"], "tenant_id", "state")
    assert depth == {
        ("acme", "completed"): 1, ("beta", "active"): 1, ("_default", "available"): 2,
    }  # fmt: skip
    assert values(found["ojs_workers_busy"], "tenant_id") == {("beta",): 1}
    enqueued = values(found["ojs_job_enqueued"], "tenant_id")
    assert enqueued == {("acme",): 1, ("beta",): 1, ("_default",): 2}


@spec("D-MT-15")
def test_setting_takes_the_label_from_the_other_metrics(read: Read, rules: Any) -> None:
    rules(LABEL_ALL_METRICS=False)
    JobFactory.create(state=State.ACTIVE, **of("acme"))

    found = read()

    assert values(found["ojs_job_enqueued"], "queue") == {("default",): 1}
    assert all("tenant_id" not in s.labels for name in LABELLED for s in found[name].samples)
    assert values(found["ojs_tenant_jobs_active"], "tenant_id") == {("acme",): 1}


@spec("D-MT-4")
def test_with_tenancy_off_there_is_no_label(read: Read, rules: Any) -> None:
    stored(1, **of("acme"))
    read()
    rules(ENABLED=False)
    stored(1, **of("acme"))

    found = read()

    assert not tenants(found)
    assert not [name for name in found if name.startswith("ojs_tenant_")]
    assert values(found["ojs_job_enqueued"], "queue") == {("default",): 2}


@spec("MT-15.4-a")
def test_1100_tenants_have_1001_labels_at_most(read: Read) -> None:
    for first in range(0, 1100, 100):
        enqueue([DraftFactory.create(**of(f"t{n}")) for n in range(first, first + 100)])

    found = read()

    assert len(tenants(found)) == 1001
    enqueued = values(found["ojs_tenant_jobs_enqueued"], "tenant_id")
    assert (len(enqueued), enqueued["_other",]) == (1001, 100)
    depth = values(found["ojs_tenant_queue_depth"], "tenant_id")
    assert (len(depth), depth["_other",], sum(depth.values())) == (1001, 100, 1100)
    assert values(found["ojs_job_enqueued"], "tenant_id") == enqueued


@spec("MT-15.4-a")
def test_tenants_that_came_first_keep_their_labels_in_every_process(read: Read, rules: Any) -> None:
    rules(METRICS_MAX=2)
    stored(1, **of("zulu"))
    read()
    stored(1, **of("beta"))
    stored(1, **of("acme"))
    read()
    clear_caches()  # as in a process that has just started

    assert tenants(read()) == {"zulu", "beta", "_other"}
    assert list(TenantLabel.objects.order_by("place").values_list("tenant", flat=True)) == [
        "zulu", "beta",
    ]  # fmt: skip
    rules(METRICS_MAX=1)
    assert tenants(read()) == {"zulu", "_other"}


@spec("contract 21.6")
def test_series_of_a_metric_are_bounded(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_SERIES", 2)
    monkeypatch.setattr(metrics, "MOST_SERIES", 2)
    for tenant in ("a", "b", "c", "d"):
        stored(1, **of(tenant))

    found = read()

    for name in ("ojs_job_enqueued", "ojs_queue_depth", "ojs_tenant_jobs_enqueued"):
        assert values(found[name], "tenant_id") == {("a",): 1, ("b",): 1, ("_other",): 2}, name
