"""The extension points: the hooks by which extensions change the core, in typed groups.

Each group is a class whose methods are hooks. `implementers` returns the extensions that override a
hook. See docs/extensions.md.
"""

from jobs.extensions.checkpoints import CheckpointFacts, CheckpointHooks
from jobs.extensions.children import ChildHooks
from jobs.extensions.claim import ClaimHooks, read_declaration
from jobs.extensions.configuration import (
    ConfigKind,
    ConfigurationHooks,
    Document,
    clear_caches,
    kinds_of_extensions,
)
from jobs.extensions.enqueue import Deduplication, EnqueueHooks, refusals, report_refusal
from jobs.extensions.lanes import LaneHooks, LaneWeights
from jobs.extensions.moves import MoveHooks, Remark
from jobs.extensions.operations import Loop, OperationsHooks, Verb, tables
from jobs.extensions.registry import Extension, implementers, installed
from jobs.extensions.reports import (
    OTHER_TENANTS,
    Facts,
    FutureProducers,
    Label,
    ReportHooks,
    TenantLabels,
    future_producers,
    tenant_labels,
)
from jobs.extensions.request import RequestHooks
from jobs.extensions.transitions import TransitionHooks

__all__ = [
    "OTHER_TENANTS",
    "CheckpointFacts",
    "CheckpointHooks",
    "ChildHooks",
    "ClaimHooks",
    "ConfigKind",
    "ConfigurationHooks",
    "Deduplication",
    "Document",
    "EnqueueHooks",
    "Extension",
    "Facts",
    "FutureProducers",
    "Label",
    "LaneHooks",
    "LaneWeights",
    "Loop",
    "MoveHooks",
    "OperationsHooks",
    "Remark",
    "ReportHooks",
    "RequestHooks",
    "TenantLabels",
    "TransitionHooks",
    "Verb",
    "clear_caches",
    "future_producers",
    "implementers",
    "installed",
    "kinds_of_extensions",
    "read_declaration",
    "refusals",
    "report_refusal",
    "tables",
    "tenant_labels",
]
