"""The app's part in enqueue, lanes and loops."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from prometheus_client import Metric

from jobs.conf import read_anew
from jobs.domain.caller import Caller
from jobs.domain.claim import LaneKey
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.gates import Gate
from jobs.domain.job import Job
from jobs.extensions import Alerts, Extension, Facts, Label, Loop, TenantLabels, Weighed
from tenancy.conf import conf
from tenancy.domain.errors import TenantLimitExceeded
from tenancy.domain.tenant_id import Rules, header_parameters, identified, named_in
from tenancy.services import admission, metrics, noise, suspension, tenant_cache
from tenancy.services.isolation import BATCH, reconcile
from tenancy.services.tenants import apply_settings
from tenancy.services.throttles import expire
from tenancy.services.watch import watch

# of requests that are about jobs which are there: GET, FETCH and cancel. D-MT-9
UNSCOPED = {"ojs:data:read", "ojs:data:fetch", "ojs:data:cancel"}


class Tenancy(Extension):
    """Tenants. Spec: multi-tenancy."""

    def tenant_of(self, headers: Mapping[str, Any]) -> str | None:
        """Return the tenant that the headers name."""
        return named_in(headers, conf().default) if conf().reads_headers else None

    def tenant_headers(self) -> Mapping[str, Any]:
        """Describe the header and its alias, while they are read."""
        return header_parameters(conf().default) if conf().reads_headers else {}

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Give the job its tenant."""
        rules = _rules()
        return draft if rules is None else identified(draft, caller, rules)

    def gates(self, drafts: Sequence[JobDraft], caller: Caller, terms: int) -> bool:
        """Tell whether tenants are new, suspended or counted."""
        return conf().enabled and admission.is_needed(drafts, terms)

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Make new tenants; refuse jobs of suspended ones and of those that have no room."""
        admission.admit(drafts, caller)

    def hold(self, drafts: Sequence[JobDraft]) -> None:
        """Lock the tenants that are counted."""
        if conf().enabled:
            admission.hold(drafts)

    def refused(self, problem: OJSError, caller: Caller) -> None:
        """Tell which limit refused jobs."""
        if isinstance(problem, TenantLimitExceeded):
            admission.tell_refused(problem)

    def weigh(self, keys: Sequence[LaneKey]) -> Weighed:
        """Return the tenants' own weights, what is left of those of throttled ones, and boosts."""
        version, terms = tenant_cache.shares(key.tenant for key in keys)
        known = {key: terms[key.tenant] for key in keys if key.tenant in terms}
        return Weighed(
            version,
            {key: one.weight for key, one in known.items() if one.weight is not None},
            factors={
                k: one.weight_factor for k, one in known.items() if one.weight_factor is not None
            },
            boosts={key: one.boost for key, one in known.items() if one.boost},
        )

    def apart(self, tenants: Collection[str]) -> tuple[int, Collection[str]]:
        """Return the tenants that have a namespace of their own."""
        return tenant_cache.apart(tenants)

    def knows(self, tenant: str) -> bool:
        """Tell whether a tenant is there, or the default one."""
        return tenant_cache.is_known(tenant)

    def tenant_without(self, scope: str) -> str | None:
        """Return the default tenant where requests that name none are its own.

        Not where new jobs are sent, which are given their tenants one by one, nor for operators.
        """
        known = conf()
        is_own = known.enabled and known.unscoped == "default" and scope in UNSCOPED
        return known.default if is_own else None

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Tell whether the job's tenant is suspended, or throttled."""
        return suspension.explain(job.tenant)

    def forget(self) -> None:
        """Read the tenants anew."""
        tenant_cache.forget()

    def tables(self) -> Sequence[str]:
        """Name the tables of tenants."""
        return (
            "ojs_tenant_enqueued",
            "ojs_tenant_noise",
            "ojs_tenant_survey",
            "ojs_tenant_throttle",
            "ojs_tenant",
        )

    def configuration(self) -> Sequence[str]:
        """Name the tables that weights are read from."""
        return ("ojs_tenant", "ojs_tenant_throttle")

    def alerts(self) -> Alerts:
        """Name noisy tenants."""
        return noise.alerts()

    def loops(self) -> Iterable[Loop]:
        """Configure the tenants of the settings; isolate all as these say.

        Look for noisy ones, and end throttles in time.
        """
        known = conf()
        yield Loop("throttles", expire, 1000)
        if known.enabled:
            yield Loop("noise", watch, known.noise_interval_ms)
        if known.tenants:
            yield Loop("tenants", apply_settings, 60_000)
        yield Loop("isolation", reconcile, 60_000, full=BATCH)

    def tenant_labels(self) -> TenantLabels | None:
        """Tell the tenants apart that came first."""
        known = conf()
        return TenantLabels(known.metrics_max, known.label_all_metrics) if known.enabled else None

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Contribute what tenants have, do and get."""
        return metrics.families(label)

    def manifest(self) -> Sequence[Facts]:
        """Declare what is there."""
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
    """Return what the settings say of naming tenants; None: requests name none."""
    known = conf()
    if not known.enabled:
        return None
    return Rules(
        known.default, "meta" in known.sources, known.missing == "reject", known.stamp_default
    )


read_anew(_rules, setting="OJS_TENANCY")
