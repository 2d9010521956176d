"""Hooks into explanations, alerts, metrics and the manifest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import QuerySet
from prometheus_client import Metric

from jobs.domain.dispatch.gates import Gate
from jobs.domain.job import Job
from jobs.domain.record.alerts import Alert, Noted
from jobs.extensions.registry import Extension, implementers

OTHER_TENANTS = "_other"  # tenants without a label in metrics
Label = Callable[[str, str], str]  # maps a label value of a kind; values beyond a bound share one


@dataclass(frozen=True, slots=True)
class Facts:
    """A feature of an extension in the manifest. Spec: contract 3.9."""

    name: str
    uri: str
    version: str
    tier: str = "official"  # or "experimental"
    capabilities: dict[str, bool] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # prefixes of its paths below /ojs/v1
    details: Mapping[str, str] = field(default_factory=dict)  # further members of its entry


class NotedRows(NamedTuple):
    """The few rows of a loop's notes; the other members are names of their columns."""

    found: QuerySet[Any]
    subject: str
    since: str
    tenant: str | None = None
    facts: Mapping[str, str] = {}  # columns by the name they get


class Alerts(NamedTuple):
    """The notes of an extension's loops, as alerts for operators, by kind of alert.

    The rows of all extensions are read in one statement.
    """

    rows: Mapping[str, NotedRows]
    describe: Callable[[Sequence[Noted]], Iterable[Alert]]  # called if there are rows


class TenantLabels(NamedTuple):
    """The labels of tenants in metrics."""

    most: int  # the first tenants with a job; all others share OTHER_TENANTS
    everywhere: bool  # in all metrics of jobs and queues, not only in an extension's own


class FutureProducers(NamedTuple):
    """Producers of an extension that will store jobs of a type later, such as schedules.

    Each count is the number of producers of a version as written; None: without a version.
    """

    source: str  # the producers, in plural: `schedules`
    versions: tuple[tuple[str | int | None, int], ...]
    paused: tuple[tuple[str | int | None, int], ...] = ()
    is_cut: bool = False  # not all producers were read


class ReportHooks(Extension):
    """Hooks that only read."""

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gates of this extension that a waiting job meets, open ones too.

        At most two statements. `viewer` is the tenant that the caller is bound to: leave out
        numbers of other tenants. A gate that a claim enforces must use the data that `plan_claim`
        uses. The `route` of the job is the version key of its lane.
        """
        return ()

    def future_producers(self, job_type: str, *, looked: int) -> FutureProducers | None:
        """Return the producers that will store jobs of a type later; None: never any.

        The type is without a version. It takes one statement, by an index that leads to the
        producers of the type, and reads at most `looked` entries of it.
        """
        return None

    def alerts(self) -> Alerts:
        """Return alerts for operators."""
        return Alerts({}, lambda _: ())

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return metrics from the database for /metrics: any process answers the same values.

        They read no table that grows with the number of jobs.
        """
        return ()

    def tenant_labels(self) -> TenantLabels | None:
        """Return the labels of tenants in metrics; None: none.

        It must be the same in all processes: counters of a tenant begin when it gets a label.
        """
        return None

    def manifest(self) -> Sequence[Facts]:
        """Return its features for the manifest, with capabilities and paths."""
        return ()


def future_producers(job_type: str, *, looked: int) -> list[FutureProducers]:
    """Return the producers of all extensions that will store jobs of a type later."""
    found = (
        extension.future_producers(job_type, looked=looked)
        for extension in implementers(ReportHooks.future_producers)
    )
    return [producers for producers in found if producers is not None]


def tenant_labels() -> TenantLabels | None:
    """Return the labels of tenants in metrics, from the first extension that has some."""
    found = (extension.tenant_labels() for extension in implementers(ReportHooks.tenant_labels))
    return next((labels for labels in found if labels is not None), None)
