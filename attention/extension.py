"""The hooks of the list of findings into the core: a loop, its tables, metrics and the manifest."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import Metric
from typing_extensions import override

from attention import metrics
from attention.services import documents, drift
from attention.services.listing import counts
from attention.services.look import look
from attention.services.thresholds import FINDING_RULE
from jobs.extensions import (
    ConfigKind,
    ConfigurationHooks,
    Facts,
    Label,
    Loop,
    OperationsHooks,
    ReportHooks,
)


class AttentionExtension(ReportHooks, OperationsHooks, ConfigurationHooks):
    """Finds incidents by rules over aggregates, at no cost for the statements of jobs."""

    @override
    def loops(self) -> Iterable[Loop]:
        """Evaluate all rules, in at most a hundredth of a core while a look takes 0.6 s."""
        return (Loop("attention", look, 10_000, longest_ms=60_000, rests=100),)

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables that a reset empties."""
        return (
            "ojs_attention_finding", "ojs_attention_mute", "ojs_attention_rule",
            "ojs_attention_look", "ojs_attention_sample", "ojs_attention_drift",
            "ojs_attention_note", "ojs_attention_procedure",
        )  # fmt: skip

    @override
    def counts_drifted(self, counts: Mapping[str, int]) -> None:
        """Note counts that were wrong, so that a rule finds them."""
        drift.note(counts)

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return (FINDING_RULE, *documents.KINDS)

    @override
    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return the number of findings by rule and severity."""
        return (metrics.of_findings(counts()),)

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the extension."""
        return (
            Facts(
                "attention",
                "urn:ojs:ext:attention",
                "1.0.0",
                tier="experimental",
                capabilities={"attention": True},
                paths=("admin/attention",),
            ),
        )
