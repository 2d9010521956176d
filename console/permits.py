"""The permits of the console's own operations, and the permit of each page and button."""

from collections.abc import Mapping
from typing import Final

from jobs.domain.permits import SUPERUSER, Permit, Role, Tenants
from jobs.permits import table

SEE: Final = ("ojs_jobs.view_job",)
PERMITS: Final = (
    Permit("console.see", Role.VIEWER, SEE, Tenants.OWN),
    Permit("console.choose_tenant", Role.VIEWER, SEE, Tenants.OWN),
    Permit("tenants.compare", Role.VIEWER, SEE, Tenants.ALL),
    Permit("schemas.browse", Role.VIEWER, ("ojs_versioning.view_schema",), Tenants.ALL),
    Permit("regions.see_jobs", Role.VIEWER, ("ojs_federation.view_region", *SEE), Tenants.ALL),
    Permit("views.save", Role.OPERATOR, ("ojs_console.add_savedview",), Tenants.OWN),
    Permit("views.delete", Role.OPERATOR, ("ojs_console.delete_savedview",), Tenants.OWN),
    Permit("jobs.export", Role.OPERATOR, ("ojs_console.add_operation",), Tenants.OWN),
    Permit(
        "simulations.start", Role.ADMIN, ("ojs_scheduling.change_poolrow",), Tenants.ALL,
        tasks="console.simulations.run",
    ),
    Permit(
        "operations.run", Role.SUPERUSER, SUPERUSER, Tenants.ALL,
        tasks="console.operations.go_on console.operations.tend console.purges.go_on",
    ),
    Permit("users.see", Role.ADMIN, ("auth.view_user",), Tenants.ALL),
    Permit("users.add", Role.ADMIN, ("auth.add_user", "auth.change_user"), Tenants.ALL,
           admin="auth.User:add"),
    Permit("users.change", Role.ADMIN, ("auth.change_user",), Tenants.ALL,
           admin="auth.User:change"),
    Permit("users.delete", Role.ADMIN, ("auth.delete_user",), Tenants.ALL,
           admin="auth.User:delete auth.User:delete_selected"),
    Permit("groups.see", Role.ADMIN, ("auth.view_group",), Tenants.ALL),
    Permit("groups.add", Role.ADMIN, ("auth.add_group",), Tenants.ALL, admin="auth.Group:add"),
    Permit("groups.change", Role.ADMIN, ("auth.change_group",), Tenants.ALL,
           admin="auth.Group:change"),
    Permit("groups.delete", Role.ADMIN, ("auth.delete_group",), Tenants.ALL,
           admin="auth.Group:delete auth.Group:delete_selected"),
)  # fmt: skip

# Per permit, `_READ` lists routes to read, `_POST` routes to post to. The part after a colon is the
# verb of an action, or of an operation on many jobs.
_READ: Final = {
    "console.see": "overview jobs job job_retry job_clone queues queue dead_letter events limits"
    " operations operation operation_new",
    "jobs.see_classified": "job_arguments",
    "jobs.export": "operation_file",
    "workers.see": "workers worker",
    "audit.see": "audit",
    "keys.see": "api_keys",
    "server.see": "system",
    "regions.see": "regions region_adopt region_forget",
    "regions.see_jobs": "region_jobs",
    "pools.see": "pools pool simulate simulated",
    "pools.configure": "pool_edit pool_new",
    "schedules.see": "crons cron",
    "schedules.configure": "cron_edit cron_new",
    "tenants.see": "tenant",
    "tenants.compare": "tenants",
    "tenants.configure": "tenant_edit tenant_new",
    "routing.see": "versions versions_of_type version_removal version_touched",
    "routing.configure": "rules_edit rules_new",
    "schemas.browse": "schemas schema",
    "webhooks.see": "webhooks delivery",
    "workflows.see": "workflows workflow",
}
_POST: Final = {
    "console.choose_tenant": "within",
    "jobs.enqueue": "job_clone",
    "jobs.change": "job_retry act:retry act:cancel act:retry-chosen act:cancel-chosen"
    " operation:retry operation:cancel",
    "jobs.delete": "act:delete act:delete-chosen operation:delete",
    "jobs.export": "operation:export",
    "queues.pause": "act:pause act:resume",
    "queues.purge": "act:purge",
    "queues.configure": "queue",
    "limits.override": "act:limit-override act:limit-end",
    "workers.direct": "act:remove-worker act:quiet act:terminate act:unquiet",
    "maintenance.set": "act:maintain act:end-maintenance",
    "keys.create": "api_keys",
    "keys.change": "api_key_rotate act:key-revoke",
    "views.save": "act:view-save",
    "views.delete": "act:view-delete",
    "workflows.cancel": "act:cancel-workflow",
    "schedules.operate": "act:cron-trigger act:cron-pause act:cron-resume",
    "schedules.configure": "cron_edit cron_new",
    "schedules.delete": "act:cron-delete",
    "pools.configure": "pool_edit pool_new",
    "pools.delete": "act:pool-delete",
    "scheduling.configure": "pools",
    "simulations.start": "simulate",
    "regions.operate": "act:region-probe act:region-open act:region-close act:region-drain"
    " act:region-undrain region_adopt operation:adopt",
    "regions.delete": "region_forget operation:forget",
    "tenants.operate": "act:tenant-suspend act:tenant-resume act:tenant-release act:tenant-limit",
    "tenants.configure": "tenant_edit tenant_new",
    "tenants.delete": "act:tenant-delete",
    "tenants.delete_with_jobs": "act:tenant-delete-force",
    "routing.operate": "act:routing-promote act:routing-pause act:routing-resume"
    " act:routing-rollback",
    "routing.configure": "rules_edit rules_new",
    "routing.delete": "act:routing-delete",
    "webhooks.operate": "act:webhook-switch act:webhook-rotate act:webhook-test act:webhook-retry",
    "webhooks.configure": "act:webhook-create",
    "webhooks.delete": "act:webhook-delete",
}


def _by_edge(listed: Mapping[str, str]) -> dict[str, str]:
    return {edge: name for name, edges in listed.items() for edge in edges.split()}


READ: Final = _by_edge(_READ)
POST: Final = _by_edge(_POST)


def to_read(page: str) -> Permit | None:
    """Return the permit to read a page; None: closed to all."""
    return table().named.get(READ.get(page, ""))


def to_post(edge: str) -> Permit | None:
    """Return the permit to post to an edge; None: closed to all."""
    return table().named.get(POST.get(edge, ""))


def of_verb(verb: str) -> Permit:
    """Return the permit of an operation on many jobs. Raises KeyError."""
    return table().named[POST[f"operation:{verb}"]]
