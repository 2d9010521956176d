"""The permits of versions, routing rules and schemas."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import ADMIN_READ, ADMIN_WRITE, READ

CHANGE_RULES: Final = "ojs_versioning.change_routing"
PERMITS: Final = (
    Permit(
        "routing.see", Role.VIEWER, ("ojs_versioning.view_routing",), Tenants.ALL,
        api={ADMIN_READ: "getTypeVersions listTouchedJobs listRouting getRouting"},
    ),
    Permit(
        "routing.operate", Role.OPERATOR, (CHANGE_RULES,), Tenants.ALL,
        api={ADMIN_WRITE: "promoteRouting pauseRouting resumeRouting rollBackRouting"},
    ),
    Permit(
        "routing.configure", Role.ADMIN, ("ojs_versioning.add_routing", CHANGE_RULES), Tenants.ALL,
        api={ADMIN_WRITE: "putRouting"},
    ),
    Permit(
        "routing.delete", Role.ADMIN, ("ojs_versioning.delete_routing",), Tenants.ALL,
        api={ADMIN_WRITE: "deleteRouting"},
    ),
    # schemas belong to job types, which all tenants share
    Permit(
        "schemas.see", Role.VIEWER, ("ojs_versioning.view_schema",), Tenants.NONE,
        api={
            READ: "listSchemaEntries getSchemaEntry listSchemaEntryVersions getSchemaEntryVersion",
            ADMIN_READ: "listSchemas getSchemas listSchemaVersions diffSchemas checkArgs getSchema",
        },
    ),
    Permit(
        "schemas.configure", Role.ADMIN,
        ("ojs_versioning.add_schema", "ojs_versioning.change_schema"), Tenants.ALL,
        api={ADMIN_WRITE: "putSchema registerSchemaEntry"},
    ),
    Permit(
        "schemas.delete", Role.ADMIN, ("ojs_versioning.delete_schema",), Tenants.ALL,
        api={
            ADMIN_WRITE: "deleteSchemas deleteSchema deleteSchemaEntry deleteSchemaEntryVersion",
        },
    ),
)  # fmt: skip
