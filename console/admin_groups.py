"""The groups of the index of Django admin: models by subject, under the names of operators.

Administrators own the models of GROUPS. Bookkeeping of the server is in the last group, read-only,
with an explanation of each table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

INTERNALS: Final = "Internals"


class Plain(NamedTuple):
    """A model's name for operators, and what its rows are."""

    name: str
    explanation: str


GROUPS: Final[Mapping[str, Mapping[str, Plain]]] = {
    "Access": {
        "auth.User": Plain("Users", "Accounts for the console and this administration."),
        "auth.Group": Plain("Groups", "Permissions that several users share."),
        "ojs_jobs.ApiKey": Plain("API keys", "Keys of producers, workers and tools."),
        "ojs_jobs.Staff": Plain("Tenant restrictions", "Users who only see some tenants."),
        "ojs_jobs.Audit": Plain("Audit log", "Each change by an operator, with its reason."),
    },
    "Jobs": {
        "ojs_jobs.ConfigChange": Plain(
            "Configuration history", "Each change of the configuration, with its versions."
        ),
        "ojs_jobs.Job": Plain("Jobs", "All stored jobs, live and ended."),
        "ojs_jobs.ArchivedJob": Plain("Archived jobs", "Jobs that retention moved to the archive."),
        "ojs_jobs.Queue": Plain("Queues", "Queues with their configuration."),
        "ojs_jobs.QueueTemplate": Plain(
            "Template of new queues", "The configuration that a new queue starts with."
        ),
        "ojs_jobs.Limit": Plain("Rate limits", "Limits of queues, types and keys, with overrides."),
        "ojs_jobs.ReplayRule": Plain("Replay rules", "Rules that retry dead jobs automatically."),
        "ojs_workflows.Workflow": Plain("Workflows", "Chains, groups, batches and graphs of jobs."),
        "ojs_console.Operation": Plain("Bulk operations", "Operations on many jobs."),
        "ojs_jobs.Undo": Plain("Undo log", "Changes of jobs that can be undone for 24 hours."),
        "ojs_attention.Finding": Plain("Findings", "Incidents that need attention, for a week."),
        "ojs_attention.ProcedureRow": Plain("Procedures", "Saved operations of runbooks."),
        "ojs_attention.RuleChange": Plain("Changed rules", "Thresholds that operators changed."),
        "ojs_console.SavedView": Plain("Saved views", "Saved filters of job lists."),
    },
    "Workers and schedules": {
        "ojs_jobs.Worker": Plain("Workers", "Workers that fetch jobs or send heartbeats."),
        "ojs_jobs.Maintenance": Plain("Maintenance mode", "Whether jobs may start at all."),
        "ojs_scheduling.CronEntry": Plain("Schedules", "Cron schedules and their next run."),
        "ojs_scheduling.PoolRow": Plain("Pools", "Pools of workers and their strategies."),
        "ojs_scheduling.Configuration": Plain(
            "Scheduling defaults", "Strategy and fairness outside pools."
        ),
    },
    "Tenants": {
        "ojs_tenancy.Tenant": Plain("Tenants", "Tenants with their limits and weights."),
        "ojs_tenancy.Throttle": Plain("Throttled tenants", "Automatic and manual throttles."),
        "ojs_tenancy.Noise": Plain("Noisy tenants", "Tenants that use much more than the others."),
    },
    "Versions": {
        "ojs_versioning.Schema": Plain("Schemas", "Schemas of the arguments of job types."),
        "ojs_versioning.Routing": Plain("Routing rules", "Shares of versions, and canary plans."),
        "ojs_versioning.Rollback": Plain("Rollbacks", "Versions that were rolled back."),
    },
    "Webhooks": {
        "ojs_webhooks.Subscription": Plain("Webhook subscriptions", "URLs that get events."),
        "ojs_webhooks.Delivery": Plain("Webhook deliveries", "Sent events and their attempts."),
    },
    "Federation": {
        "ojs_federation.Region": Plain("Regions", "Servers of the federation."),
        "ojs_federation.FederationConfig": Plain(
            "Federation configuration", "Routing, failover and replication; the API changes it."
        ),
        "ojs_federation.RegionHealth": Plain("Region health", "Results of the latest probes."),
        "ojs_federation.ReplicationPeer": Plain(
            "Replication", "Progress of the replication to and from each region."
        ),
    },
    INTERNALS: {
        "ojs_jobs.ObjectiveTotal": Plain(
            "Totals of objectives", "Starts and late starts of queues with an objective."
        ),
        "ojs_jobs.Ready": Plain("Available jobs", "Index of the jobs that may start, by lane."),
        "ojs_jobs.Lease": Plain("Leases", "Index of the active jobs, with the end of each lease."),
        "ojs_jobs.Later": Plain("Waiting jobs", "Index of scheduled, pending and retryable jobs."),
        "ojs_jobs.Unique": Plain("Unique keys", "Fingerprints that reject duplicate jobs."),
        "ojs_jobs.Progress": Plain("Progress", "Progress that workers report for active jobs."),
        "ojs_jobs.Replay": Plain("Replays", "Ended jobs that were retried, and by which rule."),
        "ojs_jobs.ResultExpiry": Plain("Result expiry", "When the server deletes a job's result."),
        "ojs_jobs.Lane": Plain("Lanes", "Position and weight of each lane of the scheduler."),
        "ojs_jobs.LaneKey": Plain(
            "Lane keys", "Queue, tenant, priority and limits that define a lane."
        ),
        "ojs_jobs.Debt": Plain("Lane charges", "Charges that a loop still adds to lanes."),
        "ojs_jobs.Charge": Plain("Run-time fairness", "Queues whose fairness counts run time."),
        "ojs_jobs.QueueSize": Plain("Queue sizes", "Waiting bytes of queues with a bound."),
        "ojs_jobs.TenantLabel": Plain("Metric tenants", "Tenants with a label in the metrics."),
        "ojs_jobs.LoopTick": Plain("Loop runs", "The last run of each background loop."),
        "ojs_jobs.FoldPosition": Plain(
            "Aggregation position", "How far events are added to the counts."
        ),
        "ojs_jobs.LogPosition": Plain("Log position", "How far events are written to the log."),
        "ojs_jobs.Terms": Plain(
            "Configuration version", "Number that tells caches when to reload the configuration."
        ),
        "ojs_jobs.Move": Plain("Moves of tenants", "The last move of each tenant between cells."),
        "ojs_attention.Look": Plain("Rule runs", "The last run of the rules of findings."),
        "ojs_tenancy.Survey": Plain("Tenant survey", "Recent activity of all tenants together."),
        "ojs_scheduling.CronTurn": Plain(
            "Overlap slots", "Running and waiting runs of schedules with policy `enqueue`."
        ),
        "ojs_scheduling.QueueWatch": Plain(
            "Starving queues", "Queues with waiting jobs of which none starts."
        ),
        "ojs_scheduling.Overload": Plain("Full pools", "Pools without room for waiting jobs."),
        "ojs_versioning.Route": Plain("Version keys", "Versions that jobs of a type were sent to."),
        "ojs_versioning.Apart": Plain(
            "Split types", "Types whose unversioned jobs are kept separate, and the progress."
        ),
        "ojs_versioning.Held": Plain("Held versions", "Waiting jobs that no live worker accepts."),
        "ojs_versioning.Redrawing": Plain(
            "Redraws", "Progress of moving waiting jobs to the versions of changed rules."
        ),
        "ojs_versioning.Started": Plain("Started attempts", "Started attempts by version key."),
        "ojs_versioning.Reader": Plain(
            "Outcome position", "How far outcomes of versions are read from the events."
        ),
        "ojs_versioning.Trial": Plain("Canary evidence", "The statistical test of each canary."),
        "ojs_federation.RegionLoad": Plain("Region load", "Last known load of each region."),
        "ojs_federation.ReplicationPosition": Plain(
            "Replication position", "How far replication has read the events."
        ),
        "ojs_webhooks.Position": Plain(
            "Webhook position", "How far deliveries are created from the events."
        ),
    },
}
PLAIN: Final = {label: plain for models in GROUPS.values() for label, plain in models.items()}
_PLACES: Final = {
    label: (group, place) for group, models in GROUPS.items() for place, label in enumerate(models)
}


def grouped(app_list: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the list of apps by group; models of other apps stay in the group of their app."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in GROUPS}
    others = []
    for app in app_list:
        own = []
        for model in app["models"]:
            label = model["model"]._meta.label
            if label not in PLAIN:
                own.append(model)
                continue
            name, explanation = PLAIN[label]
            group, place = _PLACES[label]
            found[group].append((place, {**model, "name": name, "explanation": explanation}))
        if own:
            others.append({**app, "models": own})
    ours = [
        {
            "name": name, "app_label": name.lower().replace(" ", "-"), "app_url": "",
            "has_module_perms": True,
            "models": [model for _, model in sorted(models, key=lambda one: one[0])],
        }
        for name, models in found.items()
        if models
    ]  # fmt: skip
    return [*[one for one in ours if one["name"] != INTERNALS], *others,
            *[one for one in ours if one["name"] == INTERNALS]]  # fmt: skip
