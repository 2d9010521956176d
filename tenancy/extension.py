"""Hooks of the app: tenants of jobs, their limits, their lanes and loops."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.db.models import Model
from prometheus_client import Metric
from typing_extensions import override

from jobs.conf import read_anew
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.dispatch.gates import Gate
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.extensions import (
    ClaimHooks,
    ConfigKind,
    ConfigurationHooks,
    EnqueueHooks,
    Facts,
    Label,
    LaneHooks,
    LaneWeights,
    Loop,
    MoveHooks,
    OperationsHooks,
    ReportHooks,
    RequestHooks,
    TenantLabels,
    Verb,
)
from tenancy.conf import conf
from tenancy.domain.errors import TenantLimitExceeded
from tenancy.domain.tenant_id import Rules, header_parameters, identified, named_in
from tenancy.models import Enqueued
from tenancy.services import admission, documents, metrics, move_verb, suspension, tenant_cache
from tenancy.services.isolation import BATCH, reconcile
from tenancy.services.tenants import apply_settings
from tenancy.services.throttles import expire
from tenancy.services.watch import watch

# scopes of requests about stored jobs: GET, FETCH and cancel. D-MT-9
UNSCOPED = {"ojs:data:read", "ojs:data:fetch", "ojs:data:cancel"}


class Tenancy(
    RequestHooks,
    EnqueueHooks,
    ClaimHooks,
    LaneHooks,
    ConfigurationHooks,
    ReportHooks,
    OperationsHooks,
    MoveHooks,
):
    """Tenants. Spec: multi-tenancy."""

    @override
    def tenant_of(self, headers: Mapping[str, Any]) -> str | None:
        """Return the tenant that the headers name."""
        return named_in(headers, conf().default) if conf().reads_headers else None

    @override
    def tenant_headers(self) -> Mapping[str, Any]:
        """Return the header and its alias for OpenAPI, if the settings read headers."""
        return header_parameters(conf().default) if conf().reads_headers else {}

    @override
    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Set the tenant of a job."""
        rules = _rules()
        return draft if rules is None else identified(draft, caller, rules)

    @override
    def needs_admission(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> bool:
        """Return whether a tenant is new, suspended or counted."""
        return conf().enabled and admission.is_needed(drafts, config_version)

    @override
    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Create new tenants; refuse jobs of suspended tenants and of tenants at a limit."""
        admission.admit(drafts, caller)

    @override
    def lock_admission(self, drafts: Sequence[JobDraft]) -> None:
        """Lock the counted tenants."""
        if conf().enabled:
            admission.hold(drafts)

    @override
    def enqueue_refused(self, problem: OJSError, caller: Caller) -> None:
        """Emit the event of the limit that refused jobs."""
        if isinstance(problem, TenantLimitExceeded):
            admission.emit_refused(problem)

    @override
    def lane_weights(self, keys: Sequence[LaneKey]) -> LaneWeights:
        """Return weights, factors of throttled tenants, and boosts."""
        version, policies = tenant_cache.shares(key.tenant for key in keys)
        stored = {key: policies[key.tenant] for key in keys if key.tenant in policies}
        return LaneWeights(
            version,
            {key: one.weight for key, one in stored.items() if one.weight is not None},
            factors={
                k: one.weight_factor for k, one in stored.items() if one.weight_factor is not None
            },
            boosts={key: one.boost for key, one in stored.items() if one.boost},
        )

    @override
    def namespaced_tenants(self, tenants: Collection[str]) -> tuple[int, Collection[str]]:
        """Return the tenants that have a namespace."""
        return tenant_cache.namespaced(tenants)

    @override
    def tenant_exists(self, tenant: str) -> bool:
        """Return whether a tenant exists; the default tenant always does."""
        return tenant_cache.exists(tenant)

    @override
    def default_tenant(self, scope: str) -> str | None:
        """Return the default tenant if it owns requests that name no tenant.

        This excludes enqueues, whose jobs get their tenants one by one, and operators.
        """
        known = conf()
        is_own = known.enabled and known.unscoped == "default" and scope in UNSCOPED
        return known.default if is_own else None

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gates of a suspended or throttled tenant."""
        return suspension.explain(job.tenant)

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return documents.KINDS

    @override
    def clear_caches(self) -> None:
        """Clear the cached tenants."""
        tenant_cache.cache.clear()

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables of tenants."""
        return (
            "ojs_tenant_enqueued",
            "ojs_tenant_noise",
            "ojs_tenant_survey",
            "ojs_tenant_throttle",
            "ojs_tenant",
        )

    @override
    def configuration_tables(self) -> Sequence[str]:
        """Name the tables that weights are read from."""
        return ("ojs_tenant", "ojs_tenant_throttle")

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops for throttles, noise, tenants of the settings and isolation.

        The noise loop runs only while tenants are enabled, the loop `tenants` only if the settings
        have any.
        """
        known = conf()
        yield Loop("throttles", expire, 1000, while_rows_of=("ojs_tenant_throttle",))
        if known.enabled:
            yield Loop("noise", watch, known.noise_interval_ms)
        if known.tenants:
            yield Loop("tenants", apply_settings, 60_000)
        yield Loop("isolation", reconcile, 60_000, full=BATCH)

    @override
    def moving_records(self) -> Sequence[type[Model]]:
        """Return the table of jobs that a rate still counts."""
        return (Enqueued,)

    @override
    def verbs(self) -> Sequence[Verb]:
        """Return the verb that moves a tenant to another cell."""
        return (move_verb.VERB,)

    @override
    def tenant_labels(self) -> TenantLabels | None:
        """Return how many tenants have metric labels of their own, in order of their first job."""
        known = conf()
        return TenantLabels(known.metrics_max, known.label_all_metrics) if known.enabled else None

    @override
    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return metrics of the tenants' jobs and shares."""
        return metrics.families(label)

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare multi-tenancy in the manifest, while it is enabled."""
        if not conf().enabled:
            return ()
        return (
            Facts(
                "multi-tenancy",
                "urn:ojs:ext:experimental:multi-tenancy",
                "0.1.0",
                tier="experimental",
                capabilities={"multi_tenancy": True},
                paths=("admin/tenants",),
            ),
        )


@cache
def _rules() -> Rules | None:
    """Return the rules for naming tenants; None: requests name none."""
    known = conf()
    if not known.enabled:
        return None
    return Rules(
        known.default, "meta" in known.sources, known.missing == "reject", known.stamp_default
    )


read_anew(_rules, setting="OJS_TENANCY")
