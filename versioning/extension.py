"""Hooks of the app: versions at enqueue and FETCH, schemas and loops."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from prometheus_client import Metric
from typing_extensions import override

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import ClaimPlan, Declaration, FetchRequest
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
    Loop,
    OperationsHooks,
    ReportHooks,
    Verb,
)
from ojs_tasks.versions import parse_version, split_type
from versioning.conf import conf
from versioning.domain import declaration
from versioning.services import (
    canaries,
    contract_verb,
    documents,
    explain,
    held,
    parting,
    redraw,
    routes,
    schema_cache,
    schema_check,
)
from versioning.services.metrics import families


class Versioning(EnqueueHooks, ClaimHooks, ConfigurationHooks, ReportHooks, OperationsHooks):
    """Versions of jobs. Spec: job-versioning."""

    @override
    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft:
        """Set the version key of a job that has a version."""
        if draft.type_given is not None and conf().keep_type_suffix:
            draft.type = draft.type_given
        if draft.version is not None:
            base, _ = split_type(draft.type)
            draft.route = routes.route_of(base, parse_version(draft.version))
        return draft

    @override
    def refusals(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> Mapping[int, OJSError]:
        """Return the jobs that do not fit the schemas of their versions."""
        return schema_check.refusals(drafts, config_version)

    @override
    def assign_version_keys(self, drafts: Sequence[JobDraft], config_version: int) -> None:
        """Set the version keys of jobs as the routing rules of their types draw them."""
        routes.assign(drafts, config_version)

    @override
    def read_declaration(self, handlers: Sequence[object], *, is_exclusive: bool) -> Declaration:
        """Check the handlers that a worker declares."""
        return declaration.declared(handlers, is_exclusive=is_exclusive)

    @override
    def plan_claim(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Narrow a claim to the versions that its worker accepts."""
        parting.ensure(request.declaration)
        return routes.plan(plan, request)

    @override
    def reject_claimed(self, jobs: Sequence[Job], request: FetchRequest) -> Collection[str]:
        """Reject claimed jobs without a version if the worker refuses them."""
        return parting.rejected(jobs, request)

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return documents.KINDS

    @override
    def clear_caches(self) -> None:
        """Clear the cached version keys, rules and schemas."""
        routes.clear()
        schema_cache.cache.clear()

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gate of a job's version: whether workers accept it."""
        return explain.explain(job, viewer)

    @override
    def tables(self) -> Sequence[str]:
        """Name all tables except the version keys, which stay because processes cache their ids."""
        return (
            "ojs_version_held", "ojs_schema", "ojs_version_routing", "ojs_version_rollback",
            "ojs_version_redrawing", "ojs_version_outcome", "ojs_version_started",
            "ojs_version_reader", "ojs_version_trial", "ojs_version_fallback",
            "ojs_version_run", "ojs_version_touched",
        )  # fmt: skip

    @override
    def configuration_tables(self) -> Sequence[str]:
        """Name the tables that plans of claims depend on."""
        return (
            "ojs_version_route", "ojs_version_apart", "ojs_version_routing",
            "ojs_version_fallback", "ojs_schema",
        )  # fmt: skip

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops for held versions, canaries and redrawings."""
        return (
            Loop("held_versions", held.watch, 5_000, longest_ms=60_000, while_rows_of=held.TABLES),
            Loop("canaries", canaries.watch, 5_000),
            Loop("redraw", redraw.redraw, 1_000, while_rows_of=redraw.TABLES),
        )

    @override
    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return metrics of held jobs, attempts by version, and rollbacks."""
        return families(label)

    @override
    def verbs(self) -> Sequence[Verb]:
        """Return the verb that checks if handlers of old versions can be removed."""
        return (contract_verb.VERB,)

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare job versions and the schema registry in the manifest."""
        return (
            Facts(
                "job-versioning",
                "urn:ojs:ext:experimental:job-versioning",
                "0.1.0",
                tier="experimental",
                capabilities={"job_versioning": True},
                paths=("admin/routing", "admin/versions"),
            ),
            Facts(
                "schema-registry",
                "urn:ojs:ext:schema-registry",
                "1.0.0",
                capabilities={"schema_validation": True},
                paths=("schemas", "admin/schemas"),
            ),
        )
