"""The app's hooks: enqueue by federation id, loops, metrics, a fact in the manifest."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model
from prometheus_client import Metric
from typing_extensions import override

from federation.models import FederationKey
from federation.services.health import exposition
from federation.services.health.attend import Counter, Prober
from federation.services.registry import documents, regions, registry
from federation.services.replication import capture, copies_age, dedupe, lag, lag_metrics, moves
from federation.services.replication.doubts import DoubtResolver
from federation.services.replication.replicate import replicator
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.outbound.vault import Resealed
from jobs.extensions import (
    ConfigKind,
    ConfigurationHooks,
    Deduplication,
    EnqueueHooks,
    Facts,
    Label,
    Loop,
    MoveHooks,
    OperationsHooks,
    Remark,
    ReportHooks,
    RequestHooks,
)

CONFIGURED = ("ojs_federation_config", "ojs_federation_region")  # empty without a federation

prober = Prober()
counter = Counter()
resolver = DoubtResolver()


class Federation(
    RequestHooks, EnqueueHooks, ConfigurationHooks, ReportHooks, OperationsHooks, MoveHooks
):
    """Regions. Spec: federation."""

    @override
    def request_options(self, headers: Mapping[str, Any]) -> Collection[str]:
        """Return the option that asks to store each federation id once."""
        return dedupe.requested(headers)

    @override
    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Refuse a job for which a repeat is to be detected, but cannot be."""
        dedupe.require_id(draft, caller)
        return draft

    @override
    def dedupe(self, drafts: Sequence[JobDraft], caller: Caller) -> Deduplication | None:
        """Return the detection of repeats by federation id."""
        return dedupe.of_request(drafts, caller)

    @override
    def unread_from(self) -> int | None:
        """Return the first unread event: events of federated jobs stay until they are processed."""
        return capture.unread_from()

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return documents.KINDS

    @override
    def clear_caches(self) -> None:
        """Clear the cached regions."""
        regions.clear()

    @override
    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Refuse a move while regions exchange the tenant's jobs."""
        return moves.remarks(tenant, arrives=arrives)

    @override
    def moving_records(self) -> Sequence[type[Model]]:
        """Return the table of federation ids: a retry finds its job in the new cell."""
        return (FederationKey,)

    @override
    def reseal(self) -> Resealed:
        """Encrypt the tokens of regions with the first key."""
        return registry.reseal()

    @override
    def tables(self) -> Sequence[str]:
        """Return the tables of the router and of replication."""
        return (
            "ojs_federation_health", "ojs_federation_load", "ojs_federation_region",
            "ojs_federation_config", "ojs_federation_placement", "ojs_federation_key",
            "ojs_federation_doubt",
            "ojs_federation_job", "ojs_federation_position", "ojs_federation_peer",
            "ojs_federation_minute",
        )  # fmt: skip

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops that probe regions and collect loads (not with --no-federation).

        Further loops replicate jobs to the peers, and remove old rows.
        """
        yield Loop("federation_probe", prober.run_once, 500, while_rows_of=CONFIGURED)
        yield Loop("federation_load", counter.run_once, 1_000, while_rows_of=CONFIGURED)
        # the replicator sets the time of its next run: at once while more revisions wait
        yield Loop(
            "federation_replicate",
            replicator.run_once,
            1_000,
            replicator.due_in_ms,
            full=2**31,
            while_rows_of=CONFIGURED,
        )
        yield Loop("federation_doubts", resolver.run_once, 1_000, while_rows_of=CONFIGURED)
        yield Loop("federation_lag", lag.watch, 10_000, full=2**31)
        yield Loop(
            "federation_forget", copies_age.delete_expired_copies, 60_000, full=copies_age.BATCH
        )

    @override
    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return metrics of the regions' health and of replication."""
        yield from exposition.families()
        yield from lag_metrics.families()

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the federation and replication."""
        return (
            Facts(
                "federation",
                "urn:ojs:spec:federation",
                "1.0.0-rc.1",
                capabilities={"federation": True},
                paths=("federation", "admin/federation"),
            ),
        )
