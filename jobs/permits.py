"""The permits of the core, and the table of the permits of all apps."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final, TypeVar

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from jobs.domain.access.permits import SUPERUSER, Permit, Required, Role, Tenants

Value = TypeVar("Value")
MODULE: Final = "permits"  # of an app
ENQUEUE, FETCH = "ojs:data:enqueue", "ojs:data:fetch"
READ, CANCEL = "ojs:data:read", "ojs:data:cancel"
ADMIN_READ, ADMIN_WRITE, PURGE = "ojs:admin:read", "ojs:admin:write", "ojs:admin:purge"

VIEWER, OPERATOR, ADMIN = Role.VIEWER, Role.OPERATOR, Role.ADMIN
ALL, OWN, NONE = Tenants.ALL, Tenants.OWN, Tenants.NONE

PERMITS: Final = (
    Permit(
        "server.probe", Role.ANYONE, (), NONE,
        api={None: "getManifest getHealth isAlive isReady"},
    ),
    Permit(
        "server.see", VIEWER, ("ojs_jobs.view_looptick",), ALL,
        api={
            READ: "getHealth?numbers listMiddleware isReady?lacking",
            ADMIN_READ: "getConfiguration getObservabilityHealth getMetrics getMetricsSummary",
        },
    ),
    Permit(
        "server.describe", VIEWER, ("ojs_jobs.view_job",), NONE, api={READ: "getOpenAPI getDocs"}
    ),
    Permit("server.reset", Role.SUPERUSER, SUPERUSER, ALL, api={PURGE: "reset"}),
    Permit(
        "server.run",
        Role.SUPERUSER,
        SUPERUSER,
        ALL,
        commands="runworker ojs migrate reseal migrate_from_celery migrate_from_django_q",
    ),
    Permit(
        "stats.see", VIEWER, ("ojs_jobs.view_job",), OWN,
        api={ADMIN_READ: "getSystemStats getStatsHistory"},
    ),
    Permit("stats.follow", VIEWER, ("ojs_jobs.view_job",), ALL, api={ADMIN_READ: "streamStats"}),
    Permit("audit.see", VIEWER, ("ojs_jobs.view_audit",), ALL, api={ADMIN_READ: "listAudit"}),
    Permit(
        "history.see", VIEWER, ("ojs_jobs.view_configchange",), ALL,
        api={ADMIN_READ: "listConfigHistory getConfigChange"},
    ),
    # besides the permit that changes objects of the kind
    Permit(
        "history.restore", OPERATOR, ("ojs_jobs.change_configchange",), ALL,
        api={ADMIN_WRITE: "restoreConfigVersion"},
    ),
    Permit(
        "maintenance.see", VIEWER, ("ojs_jobs.view_maintenance",), ALL,
        api={ADMIN_READ: "getMaintenance"},
    ),
    Permit(
        "maintenance.set", OPERATOR, ("ojs_jobs.change_maintenance",), ALL,
        api={ADMIN_WRITE: "setMaintenance"},
    ),
    # jobs
    Permit(
        "jobs.see", VIEWER, ("ojs_jobs.view_job",), OWN,
        api={
            READ: "listJobs getJob getProgress getJobResult getJobRetries getJobHistory"
            " streamProgress listEvents streamEvents streamJobEvents listUniqueJobs"
            " listDeadLetter getDeadLetterStats getDeadLetterJob",
            ADMIN_READ: "adminListJobs adminGetJob adminGetPastJob adminTraceJob adminExplainJob"
            " adminListDeadLetter adminGetDeadLetterStats adminGetDeadLetterJob",
        },
    ),
    Permit(
        "jobs.see_classified", ADMIN, ("ojs_jobs.view_job", "ojs_jobs.view_classified_job"), OWN,
    ),
    Permit(
        "jobs.enqueue", OPERATOR, ("ojs_jobs.add_job",), OWN,
        api={ENQUEUE: "createJob createJobs bulkEnqueue activateJob"},
    ),
    Permit(
        "jobs.change", OPERATOR, ("ojs_jobs.change_job",), OWN,
        api={
            CANCEL: "cancelJob changeJob bulkCancel bulkRetry retryDeadLetterJob retryDeadLetter",
            ADMIN_WRITE: "adminChangeJob adminRetryJob adminCancelJob adminRetryDeadLetterJob"
            " adminRetryDeadLetter",
        },
        admin="ojs_jobs.Job:retry ojs_jobs.Job:cancel",
    ),
    Permit(
        "jobs.delete", OPERATOR, ("ojs_jobs.delete_job",), OWN,
        api={
            CANCEL: "deleteDeadLetterJob",
            ADMIN_WRITE: "adminDeleteJob adminDeleteDeadLetterJob",
            PURGE: "bulkDelete emptyDeadLetter purgeDeadLetter adminEmptyDeadLetter"
            " adminPurgeDeadLetter",
        },
    ),
    Permit(
        "jobs.change_everywhere", OPERATOR, ("ojs_jobs.change_job",), ALL,
        api={ADMIN_WRITE: "adminBulkCancel adminBulkRetry"},
    ),
    Permit(
        "jobs.delete_everywhere", OPERATOR, ("ojs_jobs.delete_job",), ALL,
        api={PURGE: "adminBulkDelete"},
    ),
    Permit(
        "jobs.preview_everywhere", VIEWER, ("ojs_jobs.view_job",), ALL,
        api={ADMIN_READ: "adminBulkPreview"},
    ),
    Permit(
        "undo.see", VIEWER, ("ojs_jobs.view_job",), OWN,
        api={ADMIN_READ: "adminListOperations adminGetOperation"},
    ),
    Permit(
        "undo.run", OPERATOR, ("ojs_jobs.change_job", "ojs_jobs.delete_job"), OWN,
        api={ADMIN_WRITE: "adminUndoOperation"},
    ),
    Permit(
        "replay.see", VIEWER, ("ojs_jobs.view_replayrule",), ALL, api={ADMIN_READ: "getReplayRules"}
    ),
    Permit(
        "replay.configure", ADMIN, ("ojs_jobs.change_replayrule",), ALL,
        api={ADMIN_WRITE: "setReplayRules"},
    ),
    # queues and limits
    Permit(
        "queues.see", VIEWER, ("ojs_jobs.view_job",), OWN,
        api={
            READ: "listQueues getQueue getQueueStats getQueuePriorities streamQueueEvents",
            ADMIN_READ: "adminListQueues adminGetQueue",
        },
    ),
    Permit(
        "queues.see_configuration", VIEWER, ("ojs_jobs.view_job",), ALL,
        api={READ: "getQueueConfig"},
    ),
    Permit(
        "queues.pause", OPERATOR, ("ojs_jobs.change_queue",), ALL,
        api={CANCEL: "pauseQueue resumeQueue", ADMIN_WRITE: "adminPauseQueue adminResumeQueue"},
        admin="ojs_jobs.Queue:pause ojs_jobs.Queue:resume",
    ),
    Permit(
        "queues.purge", OPERATOR, ("ojs_jobs.delete_job", "ojs_jobs.change_queue"), ALL,
        api={PURGE: "purgeQueue purgeQueueJobs"},
    ),
    Permit(
        "queues.configure", ADMIN, ("ojs_jobs.configure_queue",), ALL,
        api={ADMIN_WRITE: "createQueue setQueueConfig configureQueue setQueueRateLimit"},
    ),
    Permit(
        "queues.delete", ADMIN, ("ojs_jobs.delete_queue", "ojs_jobs.delete_job"), ALL,
        api={PURGE: "deleteQueue"},
    ),
    Permit(
        "limits.see", VIEWER, ("ojs_jobs.view_job",), OWN, api={READ: "listRateLimits getRateLimit"}
    ),
    Permit(
        "limits.override", OPERATOR, ("ojs_jobs.change_limit",), OWN,
        api={ADMIN_WRITE: "overrideRateLimit endRateLimitOverride"},
    ),
    # workers
    Permit(
        "workers.work", Role.SUPERUSER, SUPERUSER, OWN,
        api={
            FETCH: "fetchJobs ackJob ackJobByPath ackJobs nackJob nackJobByPath nackJobs"
            " heartbeat registerWorker deregisterWorker reportProgress reportPercentage",
        },
    ),
    Permit(
        "workers.probe", VIEWER, ("ojs_jobs.view_worker",), OWN, api={READ: "getWorkerHealth"}
    ),
    Permit(
        "workers.see", VIEWER, ("ojs_jobs.view_worker",), ALL,
        api={ADMIN_READ: "adminListWorkers adminGetWorker"},
    ),
    Permit(
        "workers.direct", OPERATOR, ("ojs_jobs.change_worker",), ALL,
        api={ADMIN_WRITE: "directWorker directWorkers adminDeleteWorker"},
        admin="ojs_jobs.Worker:quiet ojs_jobs.Worker:resume ojs_jobs.Worker:terminate",
    ),
    # API keys, and users' tenants
    Permit("keys.see", ADMIN, ("ojs_jobs.view_apikey",), ALL),
    Permit(
        "keys.create", ADMIN, ("ojs_jobs.add_apikey",), ALL,
        admin="ojs_jobs.ApiKey:add", commands="createapikey ojs_apikey",
    ),
    Permit(
        "keys.change", ADMIN, ("ojs_jobs.change_apikey",), ALL,
        admin="ojs_jobs.ApiKey:rotate ojs_jobs.ApiKey:revoke",
    ),
    Permit("staff.see", ADMIN, ("ojs_jobs.view_staff",), ALL),
    Permit("staff.restrict", ADMIN, ("ojs_jobs.add_staff",), ALL, admin="ojs_jobs.Staff:add"),
    Permit(
        "staff.change", ADMIN, ("ojs_jobs.change_staff",), ALL, admin="ojs_jobs.Staff:change"
    ),
    Permit(
        "staff.free", ADMIN, ("ojs_jobs.delete_staff",), ALL,
        admin="ojs_jobs.Staff:delete ojs_jobs.Staff:delete_selected",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The permits of all installed apps."""

    named: Mapping[str, Permit]
    operations: Mapping[str, Required]  # by operation id of the API
    admin: Mapping[str, Permit]  # by `app.Model:verb`
    tasks: Mapping[str, Permit]  # by dotted path of the function

    @classmethod
    def of(cls, permits: Iterable[Permit]) -> "Table":
        """Build the lookups. Raises ValueError for an edge that two permits claim."""
        listed = list(permits)
        return cls(
            named=_unique((one.name, one) for one in listed),
            operations=_unique(
                (name, Required(name, scope, one))
                for one in listed
                for scope, names in one.api.items()
                for name in names.split()
            ),
            admin=_unique((edge, one) for one in listed for edge in one.admin.split()),
            tasks=_unique((path, one) for one in listed for path in one.tasks.split()),
        )

    def role_of(self, permission: str) -> Role | None:
        """Return the least role that a permission is for; None: no permit requires it."""
        roles = [one.role for one in self.named.values() if permission in one.permissions]
        return min(roles, default=None)


@cache
def table() -> Table:
    """Return the table of all installed apps, which is fixed once these are loaded."""
    return Table.of(permit for listed in _listed() for permit in listed)


def required(operation: str) -> Required:
    """Return the rights that an operation of the API requires, by its id. Raises KeyError."""
    return table().operations[operation]


def _listed() -> Iterator[Iterable[Permit]]:
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, MODULE):
            yield import_module(f"{config.name}.{MODULE}").PERMITS


def _unique(pairs: Iterable[tuple[str, Value]]) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"two permits claim {name!r}")
        found[name] = value
    return found
