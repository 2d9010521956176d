"""The permits of regions, of the router and of peers."""

from typing import Final

from jobs.domain.access.permits import SUPERUSER, Permit, Role, Tenants
from jobs.permits import ADMIN_READ, ADMIN_WRITE, PURGE, READ

PEER: Final = "ojs:federation:write"
CHANGE: Final = "ojs_federation.change_region"
DELETE: Final = "ojs_federation.delete_region"
REGION: Final = "ojs_federation.Region"
PERMITS: Final = (
    Permit(
        "regions.list", Role.VIEWER, ("ojs_federation.view_region",), Tenants.NONE,
        api={READ: "listFederationRegions getFederationHealth routeJob"},
    ),
    Permit(
        "regions.see", Role.VIEWER, ("ojs_federation.view_region",), Tenants.ALL,
        api={
            ADMIN_READ: "listRegions getRegion getFederationConfig getReplication"
            " listFederationBackends getFederationStats",
        },
    ),
    Permit(
        "regions.operate", Role.OPERATOR, (CHANGE,), Tenants.ALL,
        api={ADMIN_WRITE: "probeRegion setRegionBreaker drainRegion undrainRegion adoptJobs"},
        commands="adopt_jobs",
        admin=" ".join(
            f"{REGION}:{verb}"
            for verb in ("probe", "open_breakers", "close_breakers", "drain", "undrain")
        ),
    ),
    Permit(
        "regions.configure", Role.ADMIN, ("ojs_federation.add_region", CHANGE), Tenants.ALL,
        api={ADMIN_WRITE: "createRegion putRegion patchRegion"},
        admin=f"{REGION}:add {REGION}:change",
    ),
    Permit(
        "regions.delete", Role.ADMIN, (DELETE,), Tenants.ALL,
        api={ADMIN_WRITE: "deleteRegion", PURGE: "forgetRegionCopies"},
        admin=f"{REGION}:delete {REGION}:delete_selected", commands="forget_copies",
    ),
    Permit(
        "federation.configure", Role.ADMIN, ("ojs_federation.change_federationconfig",),
        Tenants.ALL, api={ADMIN_WRITE: "putFederationConfig"},
    ),
    Permit(
        "copies.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={READ: "getFederatedJob"},
    ),
    Permit(
        "federation.place", Role.SUPERUSER, SUPERUSER, Tenants.OWN, api={PEER: "placeJob placeJobs"}
    ),
    Permit(
        "federation.replicate", Role.SUPERUSER, SUPERUSER, Tenants.OWN,
        api={PEER: "replicateJobs giveUpJobs"},
    ),
)  # fmt: skip
