"""The app's part in the core."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import Metric

from federation.services import capture, copies_age, dedupe, lag_metrics, regions
from federation.services.replicate import replicator
from jobs.domain.caller import Caller
from jobs.domain.envelope import JobDraft
from jobs.extensions import Extension, Label, Loop, Repeats


class Federation(Extension):
    """Regions. Spec: federation."""

    def asked(self, headers: Mapping[str, Any]) -> Collection[str]:
        """Return whether a request is to store each federation id once."""
        return dedupe.asked(headers)

    def enqueue_headers(self) -> Mapping[str, Any]:
        """Describe the header."""
        return dedupe.PARAMETERS

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Refuse a job whose repeats are to be told and cannot be."""
        dedupe.require_id(draft, caller)
        return draft

    def repeats(self, drafts: Sequence[JobDraft], caller: Caller) -> Repeats | None:
        """Return who knows jobs by their federation ids."""
        return dedupe.repeats(drafts, caller)

    def unread_from(self) -> int | None:
        """Keep events until what they say of federated jobs is noted."""
        return capture.unread_from()

    def loops(self) -> Iterable[Loop]:
        """Tell the peers of jobs, and forget what is old."""
        yield Loop("replicate", replicator.turn, 1000, replicator.due_in_ms, full=capture.BATCH // 4)
        yield Loop("federation_forget", copies_age.forget, 60_000, full=copies_age.BATCH)

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Contribute how replication goes."""
        return lag_metrics.families()

    def forget(self) -> None:
        """Read the regions anew."""
        regions.forget()

    def tables(self) -> Sequence[str]:
        """Name the tables of the router and of replication."""
        return (
            "ojs_federation_health", "ojs_federation_load", "ojs_federation_region",
            "ojs_federation_config", "ojs_federation_key", "ojs_federation_job",
            "ojs_federation_position", "ojs_federation_peer",
        )  # fmt: skip
