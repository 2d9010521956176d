"""The permits of pools, of scheduling and of schedules."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import ADMIN_READ, ADMIN_WRITE, ENQUEUE, READ

CHANGE_SCHEDULE: Final = "ojs_scheduling.change_cronentry"
PERMITS: Final = (
    Permit(
        "schedules.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={READ: "listCrons getCron getCronHistory getCronUpcoming"},
    ),
    Permit(
        "schedules.operate", Role.OPERATOR, (CHANGE_SCHEDULE,), Tenants.OWN,
        api={ENQUEUE: "changeCron triggerCron pauseCron resumeCron"},
        admin="ojs_scheduling.CronEntry:run_now ojs_scheduling.CronEntry:pause"
        " ojs_scheduling.CronEntry:resume",
    ),
    Permit(
        "schedules.configure", Role.ADMIN, ("ojs_scheduling.add_cronentry", CHANGE_SCHEDULE),
        Tenants.OWN, api={ENQUEUE: "registerCron changeCron?definition"},
    ),
    Permit(
        "schedules.delete", Role.ADMIN, ("ojs_scheduling.delete_cronentry",), Tenants.OWN,
        api={ENQUEUE: "deleteCron"},
    ),
    Permit(
        "pools.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.ALL,
        api={ADMIN_READ: "listPools getPool getSchedulingConfig getSchedulingStats"},
        commands="simulate_scheduling",
    ),
    Permit(
        "pools.configure", Role.ADMIN,
        ("ojs_scheduling.add_poolrow", "ojs_scheduling.change_poolrow"), Tenants.ALL,
        api={ADMIN_WRITE: "putPool"},
    ),
    Permit(
        "pools.delete", Role.ADMIN, ("ojs_scheduling.delete_poolrow",), Tenants.ALL,
        api={ADMIN_WRITE: "deletePool"},
    ),
    Permit(
        "scheduling.configure", Role.ADMIN, ("ojs_scheduling.change_configuration",), Tenants.ALL,
        api={ADMIN_WRITE: "setSchedulingConfig"},
    ),
)  # fmt: skip
