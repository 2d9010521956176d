"""The pages of the console: one table of routes, permits and places in the menu.

The URL configuration, the menu, the guard and the search of pages (`palette.js`, which reads the
menu) derive from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from django.conf import settings

from ojs_tasks.installed import has_app


class Menu(Enum):
    """The two menus of the page frame."""

    BAR = "bar"
    MORE = "more"  # behind one entry of the bar, for lack of room


@dataclass(frozen=True, slots=True)
class Page:
    """One route of the console.

    A replica of the database may serve the GET of a page with `may_lag`.

    `read` and `post` name the permits of GET and POST. A permit also has the rights of users
    restricted to tenants. An empty permit closes the method, unless the form decides (`posting` of
    the view).
    """

    name: str  # of the route
    path: str  # below the prefix of the console
    view: str  # module and class in `console.views`
    section: str = ""  # the page of the menu that is marked as current
    read: str = ""
    post: str = ""
    app: str = ""  # an app that an installation may lack; empty: the core
    label: str = ""  # in the menu
    menu: Menu | None = None
    may_lag: bool = False
    is_debug: bool = False  # only a server with DEBUG has the route


_SEE: Final = "console.see"
_BAR, _MORE = Menu.BAR, Menu.MORE

# in the order of the menus, each with the pages of its section
PAGES: Final = (
    Page("overview", "", "overview.Overview", "overview", read=_SEE, label="Overview", menu=_BAR),
    Page("attention", "attention/", "attention.Attention", "attention",
         read="attention.see", app="attention", label="Attention", menu=_BAR),
    Page("attention_rules", "attention/rules/", "attention.Rules", "attention",
         read="attention.see_rules", app="attention"),
    Page("attention_rule", "attention/rules/<str:rule_id>/", "attention.RulePage", "attention",
         read="attention.see_rules", post="attention.configure", app="attention"),
    Page("finding", "attention/<str:finding_id>/", "attention.FindingPage", "attention",
         read="attention.see", app="attention"),
    Page("jobs", "jobs/", "jobs.Jobs", "jobs", read=_SEE, label="Jobs", menu=_BAR, may_lag=True),
    Page("job", "jobs/<str:job_id>/", "job.JobDetail", "jobs", read=_SEE),
    Page("job_arguments", "jobs/<str:job_id>/arguments/", "job_arguments.JobArguments", "jobs",
         read="jobs.see_classified"),
    Page("job_decode", "jobs/<str:job_id>/decode/", "job_decode.JobDecode", "jobs",
         read="encryption.decode", post="encryption.decode", app="encryption"),
    Page("job_retry", "jobs/<str:job_id>/retry/", "job_edit.JobRetry", "jobs",
         read=_SEE, post="jobs.change"),
    Page("job_clone", "jobs/<str:job_id>/clone/", "job_edit.JobClone", "jobs",
         read=_SEE, post="jobs.enqueue"),
    Page("queues", "queues/", "queues.Queues", "queues", read=_SEE, label="Queues", menu=_BAR),
    Page("queue", "queues/<path:name>/", "queues.QueueDetail", "queues",
         read=_SEE, post="queues.configure"),
    # a queue may have any name
    Page("queue_remove", "remove-queue/<path:name>/", "remove.QueueRemove", "queues",
         read="queues.purge"),
    Page("dead_letter", "dead-letter/", "dead_letter.DeadLetter", "dead_letter",
         read=_SEE, label="Dead letter", menu=_BAR, may_lag=True),
    Page("crons", "cron/", "cron.Crons", "crons",
         read="schedules.see", app="scheduling", label="Schedules", menu=_BAR),
    Page("cron_new", "cron/new/", "cron.CronEdit", "crons",
         read="schedules.configure", post="schedules.configure", app="scheduling"),
    Page("cron", "cron/<int:pk>/", "cron.CronDetail", "crons",
         read="schedules.see", app="scheduling"),
    Page("cron_edit", "cron/<int:pk>/edit/", "cron.CronEdit", "crons",
         read="schedules.configure", post="schedules.configure", app="scheduling"),
    Page("workflows", "workflows/", "workflows.Workflows", "workflows",
         read="workflows.see", app="workflows", label="Workflows", menu=_BAR, may_lag=True),
    Page("workflow", "workflows/<str:workflow_id>/", "workflows.WorkflowDetail", "workflows",
         read="workflows.see", app="workflows"),
    Page("pools", "pools/", "pools.Pools", "pools",
         read="pools.see", post="scheduling.configure", app="scheduling", label="Pools", menu=_BAR),
    Page("pool", "pools/<str:name>/", "pools.PoolDetail", "pools",
         read="pools.see", app="scheduling"),
    Page("pool_edit", "pools/<str:name>/edit/", "pools.PoolEdit", "pools",
         read="pools.configure", post="pools.configure", app="scheduling"),
    # a pool may have any name
    Page("pool_new", "new-pool/", "pools.PoolEdit", "pools",
         read="pools.configure", post="pools.configure", app="scheduling"),
    Page("simulate", "simulate/", "simulate.Simulate", "pools",
         read="pools.see", post="simulations.start", app="scheduling"),
    # the setting that the simulation changes decides which permit a POST needs
    Page("simulated", "simulate/<str:key>/", "simulate.Simulated", "pools",
         read="pools.see", app="scheduling"),
    Page("tenants", "tenants/", "tenants.Tenants", "tenants",
         read="tenants.compare", app="tenancy", label="Tenants", menu=_BAR, may_lag=True),
    Page("tenant", "tenants/<str:tenant_id>/", "tenants.TenantDetail", "tenants",
         read="tenants.see", app="tenancy"),
    Page("tenant_edit", "tenants/<str:tenant_id>/edit/", "tenants.TenantEdit", "tenants",
         read="tenants.configure", post="tenants.configure", app="tenancy"),
    # any word may be the id of a tenant
    Page("tenant_new", "new-tenant/", "tenants.TenantEdit", "tenants",
         read="tenants.configure", post="tenants.configure", app="tenancy"),
    Page("tenant_remove", "tenants/<str:tenant_id>/remove/", "remove.TenantRemove", "tenants",
         read="tenants.delete", app="tenancy"),
    Page("workers", "workers/", "workers.Workers", "workers",
         read="workers.see", label="Workers", menu=_BAR),
    Page("worker", "workers/<path:name>/", "workers.WorkerDetail", "workers", read="workers.see"),
    Page("types", "types/", "types.Types", "types",
         read="types.see", label="Types", menu=_MORE, may_lag=True),
    Page("type", "types/<str:job_type>/", "types.TypeDetail", "types",
         read="types.see", may_lag=True),
    Page("versions", "versions/", "versions.Versions", "versions",
         read="routing.see", app="versioning", label="Versions", menu=_MORE),
    Page("versions_of_type", "versions/<str:job_type>/", "versions.VersionsOfType", "versions",
         read="routing.see", app="versioning"),
    Page("version_removal", "versions/<str:job_type>/removal/", "versions.VersionRemoval",
         "versions", read="routing.see", app="versioning"),
    Page("version_touched", "versions/<str:job_type>/touched/", "versions.VersionTouched",
         "versions", read="routing.see", app="versioning"),
    Page("rules_edit", "versions/<str:job_type>/rules/", "versions.RulesEdit", "versions",
         read="routing.configure", post="routing.configure", app="versioning"),
    Page("rules_new", "new-rules/", "versions.RulesEdit", "versions",
         read="routing.configure", post="routing.configure", app="versioning"),
    Page("limits", "rate-limits/", "limits.Limits", "limits",
         read=_SEE, label="Rate limits", menu=_MORE),
    Page("schemas", "schemas/", "schemas.Schemas", "schemas",
         read="schemas.browse", app="versioning", label="Schemas", menu=_MORE),
    Page("schema", "schemas/<str:job_type>/", "schemas.SchemaPage", "schemas",
         read="schemas.browse", app="versioning"),
    Page("operations", "operations/", "operations.Operations", "operations",
         read=_SEE, label="Operations", menu=_MORE, may_lag=True),
    # the verb of the operation decides which permit a POST needs
    Page("operation_new", "operations/new/", "operations.OperationNew", "operations", read=_SEE),
    Page("operation", "operations/<int:pk>/", "operations.OperationPage", "operations", read=_SEE),
    Page("operation_file", "operations/<int:pk>/file/", "operations.OperationFile", "operations",
         read="jobs.export"),
    Page("regions", "regions/", "regions.Regions", "regions",
         read="regions.see", app="federation", label="Regions", menu=_MORE),
    Page("region_jobs", "regions/jobs/", "regions.RegionJobs", "regions",
         read="regions.see_jobs", app="federation"),
    Page("region_adopt", "regions/<str:region_id>/adopt/", "region_operations.RegionAdopt",
         "regions", read="regions.see", post="regions.operate", app="federation"),
    Page("region_forget", "regions/<str:region_id>/forget/", "region_operations.RegionForget",
         "regions", read="regions.see", post="regions.delete", app="federation"),
    Page("events", "events/", "events.Events", "events",
         read=_SEE, label="Events", menu=_MORE, may_lag=True),
    Page("webhooks", "webhooks/", "webhooks.Webhooks", "webhooks",
         read="webhooks.see", app="webhooks", label="Webhooks", menu=_MORE, may_lag=True),
    Page("delivery", "webhooks/deliveries/<str:delivery_id>/", "webhooks.DeliveryPage", "webhooks",
         read="webhooks.see", app="webhooks"),
    Page("runbooks", "runbooks/", "runbooks.Runbooks", "runbooks",
         read="runbooks.see", app="attention", label="Runbooks", menu=_MORE),
    Page("note", "runbooks/notes/<str:about>/<path:name>/", "runbooks.NotePage", "runbooks",
         read="runbooks.see", post="runbooks.write", app="attention"),
    Page("procedure_new", "runbooks/new-procedure/", "runbooks.ProcedurePage", "runbooks",
         read="runbooks.configure", post="runbooks.configure", app="attention"),
    Page("procedure", "runbooks/procedures/<str:name>/", "runbooks.ProcedurePage", "runbooks",
         read="runbooks.see", post="runbooks.configure", app="attention"),
    Page("history", "history/", "history.History", "history",
         read="history.see", label="History", menu=_MORE, may_lag=True),
    # the kind of the object decides which permit a POST needs, too
    Page("version", "history/<int:number>/", "history.Version", "history",
         read="history.see", post="history.restore"),
    Page("audit", "audit/", "audit.Audit", "audit",
         read="audit.see", label="Audit log", menu=_MORE, may_lag=True),
    Page("api_keys", "api-keys/", "api_keys.ApiKeys", "api_keys",
         read="keys.see", post="keys.create", label="API keys", menu=_MORE),
    Page("api_key_rotate", "api-keys/rotate/", "api_keys.ApiKeyRotate", "api_keys",
         post="keys.change"),
    Page("system", "system/", "system.System", "system",
         read="server.see", label="System", menu=_MORE),
    Page("styleguide", "styleguide/", "styleguide.Styleguide", read=_SEE, is_debug=True),
    # the action decides which permit it needs
    Page("act", "actions/<str:verb>/", "act.Act"),
    Page("palette", "palette/", "palette.Palette", read=_SEE),
    Page("display", "display/", "display.ChooseDisplay", post="console.choose_display"),
    Page("columns", "columns/", "display.ChooseColumns", post="console.choose_display"),
    Page("within", "within/", "within.Within", post="console.choose_tenant"),
)  # fmt: skip
BY_NAME: Final = {page.name: page for page in PAGES}


def installed() -> Iterator[Page]:
    """Return the pages whose app is installed, those of developers with DEBUG only."""
    return (
        page
        for page in PAGES
        if (not page.app or has_app(page.app)) and (settings.DEBUG or not page.is_debug)
    )
