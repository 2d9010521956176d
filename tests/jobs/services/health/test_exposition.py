"""Lifecycle metrics for Prometheus. Spec: contract 32.3."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from jobs import queries
from jobs.domain.states import State
from jobs.loops import run_once
from jobs.services.health import exposition as module
from jobs.services.health.exposition import exposition
from jobs.services.outcome.cancel import cancel
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.concurrency import wait_until_complete
from tests.factories import FAR, JobFactory, stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Read = Callable[[], dict[str, Metric]]


@pytest.fixture(autouse=True)
def fresh(settings: Any) -> Iterator[None]:
    """Clear the cache around each test, and switch off labels of tenants.

    The tests of tenancy cover metrics with tenants.
    """
    settings.OJS_TENANCY = {**settings.OJS_TENANCY, "ENABLED": False}
    module._cached.clear()
    yield
    module._cached.clear()


@pytest.fixture
def read() -> Read:
    """Return a function that aggregates the events and parses the exposition."""

    def families() -> dict[str, Metric]:
        wait_until_complete()
        for _ in range(2):  # the first run on an empty store only finds the start position
            run_once(["fold"])
        module._cached.clear()
        found = list(text_string_to_metric_families(exposition().decode()))
        assert len({family.name for family in found}) == len(found)
        return {family.name: family for family in found}

    return families


def values(family: Metric, suffix: str = "") -> dict[tuple[str, ...], float]:
    """Return the samples of a family by their label values."""
    return {
        tuple(sample.labels.values()): sample.value
        for sample in family.samples
        if sample.name == family.name + suffix
    }


@spec("contract 32.3")
def test_families_have_the_names_types_and_labels_of_the_contract(read: Read) -> None:
    JobFactory.create(queue="a", state=State.COMPLETED)
    JobFactory.create(queue="b", state=State.ACTIVE)
    queries.tick("fold")

    found = read()

    shapes = {
        name: (family.type, *{frozenset(s.labels.keys() - {"le"}) for s in family.samples})
        for name, family in found.items()
    }
    for name in ("enqueued", "completed", "failed", "retried", "cancelled", "expired"):
        assert shapes.pop(f"ojs_job_{name}") == ("counter", {"queue", "type"})
    elsewhere = (
        "ojs_rate_limit", "ojs_backpressure", "ojs_scheduling", "ojs_version",
        "ojs_queue_objective",
    )  # fmt: skip
    for name in [name for name in shapes if name.startswith(elsewhere)]:
        del shapes[name]  # covered by test_limit_metrics, test_objectives and tests of extensions
    assert shapes == {
        "ojs_job_queue_time_seconds": ("histogram", {"queue", "type"}),
        "ojs_job_duration_seconds": ("histogram", {"queue", "type", "state"}),
        "ojs_queue_depth": ("gauge", {"queue", "state"}),
        "ojs_workers_active": ("gauge", frozenset()),
        "ojs_workers_busy": ("gauge", {"queue"}),
        "ojs_loop_lag_seconds": ("gauge", {"loop"}),
        "ojs_progress_stalled_jobs": ("gauge",),  # no job is stalled
        **dict.fromkeys(  # there is no federation
            (
                "ojs_federation_circuit_state",
                "ojs_federation_region_healthy",
                "ojs_federation_region_latency_seconds",
            ),
            ("gauge",),
        ),
        # beyond the contract
        "ojs_attention": ("gauge",),  # there is no finding
        "ojs_events_unread": ("gauge", frozenset()),
    }


@spec("contract 32.3")
def test_counters_count_what_happened(read: Read) -> None:
    JobFactory.create(queue="done", type="a.one", state=State.COMPLETED)
    JobFactory.create(queue="failed", type="a.one", state=State.DISCARDED)
    JobFactory.create(queue="again", type="a.two", state=State.RETRYABLE)
    cancel(JobFactory.create(queue="off", type="a.two").id)

    found = read()

    assert values(found["ojs_job_enqueued"], "_total") == {
        ("again", "a.two"): 1, ("done", "a.one"): 1, ("failed", "a.one"): 1, ("off", "a.two"): 1,
    }  # fmt: skip
    assert values(found["ojs_job_completed"], "_total")["done", "a.one"] == 1
    assert values(found["ojs_job_failed"], "_total")["failed", "a.one"] == 1
    assert values(found["ojs_job_retried"], "_total")["again", "a.two"] == 1
    assert values(found["ojs_job_cancelled"], "_total")["off", "a.two"] == 1
    assert values(found["ojs_job_expired"], "_total")["off", "a.two"] == 0


@spec("contract 32.3")
def test_histograms_have_the_bounds_of_the_contract_and_all_jobs(read: Read) -> None:
    JobFactory.create(queue="done", state=State.COMPLETED)

    found = read()

    waits = found["ojs_job_queue_time_seconds"]
    bounds = [s.labels["le"] for s in waits.samples if s.name.endswith("_bucket")]
    assert [float(bound) for bound in bounds] == [
        0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, float("inf"),
    ]  # fmt: skip
    runs = found["ojs_job_duration_seconds"]
    bounds = [s.labels["le"] for s in runs.samples if s.name.endswith("_bucket")]
    assert [float(bound) for bound in bounds] == [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, float("inf"),
    ]  # fmt: skip
    assert set(values(waits, "_count").values()) == {1}
    (labels,) = {tuple(sorted(s.labels.items())) for s in runs.samples if s.name.endswith("_count")}
    assert dict(labels) == {"queue": "done", "type": "tests.noop", "state": "completed"}


@spec("contract 32.3")
def test_gauges_are_exact(read: Read) -> None:
    stored(3, queue="a")
    stored(2, queue="a", scheduled_at=FAR)
    JobFactory.create(queue="b", state=State.ACTIVE)
    heartbeat(Report("w1"))

    found = read()

    depth = {key: n for key, n in values(found["ojs_queue_depth"]).items() if n}
    assert depth == {("a", "available"): 3, ("a", "scheduled"): 2, ("b", "active"): 1}
    assert values(found["ojs_workers_active"]) == {(): 1}
    assert {key: n for key, n in values(found["ojs_workers_busy"]).items() if n} == {("b",): 1}


def test_the_page_is_cached_for_a_moment(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    before = exposition()
    stored(1)
    assert exposition() == before

    monkeypatch.setattr(module, "CACHE_S", -1.0)

    assert exposition() != before


def test_queues_and_types_beyond_the_cap_share_one_label(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_LABELS", 2)
    for number in range(5):
        stored(1, queue=f"q{number}", type=f"t.n{number}")

    found = read()

    assert values(found["ojs_job_enqueued"], "_total") == {
        ("q0", "t.n0"): 1, ("q1", "t.n1"): 1, ("_other", "_other"): 3,
    }  # fmt: skip
    depth = {key: n for key, n in values(found["ojs_queue_depth"]).items() if n}
    assert depth == {("q0", "available"): 1, ("q1", "available"): 1, ("_other", "available"): 3}
