"""The permits of the console's own operations, and the permit of each operation on many jobs."""

from collections.abc import Mapping
from typing import Final

from jobs.domain.access.permits import SUPERUSER, Permit, Role, Tenants
from jobs.permits import table

SEE: Final = ("ojs_jobs.view_job",)
PERMITS: Final = (
    Permit("console.see", Role.VIEWER, SEE, Tenants.OWN),
    Permit("console.choose_tenant", Role.VIEWER, SEE, Tenants.OWN),
    Permit("console.choose_display", Role.VIEWER, SEE, Tenants.OWN),
    Permit("types.see", Role.VIEWER, SEE, Tenants.ALL),
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

# the permit of an operation on many jobs, by its verb
OPERATIONS: Final[Mapping[str, str]] = {
    "retry": "jobs.change",
    "cancel": "jobs.change",
    "delete": "jobs.delete",
    "export": "jobs.export",
    "adopt": "regions.operate",
    "forget": "regions.delete",
}


def of_verb(verb: str) -> Permit:
    """Return the permit of an operation on many jobs. Raises KeyError."""
    return table().named[OPERATIONS[verb]]
