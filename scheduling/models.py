"""Tables of schedules and pools. Verbs live in `services/`."""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import STRATEGIES, PriorityScope
from jobs.models import BaseType, NameField
from scheduling.domain.overlap import Overlap

WITH_NOW = {"now": Now()}  # annotates rows with the database's clock
OVERLAPS = [policy.value for policy in Overlap]
CHOICES = [(int(code), name) for name, code in STRATEGIES.items()]
SCOPES = [(scope.value, scope.value) for scope in PriorityScope]
KEPT = 100  # runs of a schedule in its history


class CronEntry(models.Model):
    """A schedule and the job it makes. Spec: contract 7.1."""

    tenant = NameField(null=True)  # null: a caller without a tenant registered it
    name = NameField()
    project = models.TextField(null=True)  # whose code defines it; null: made by API or console
    expression = models.TextField()  # as sent
    timezone = models.TextField()
    template = models.JSONField()  # a PUSH request without an id
    overlap_policy = models.TextField(choices=[(name, name) for name in OVERLAPS])
    enabled = models.BooleanField()
    description = models.TextField(null=True)
    # when the loop has to look: the next run, or an earlier local time that the clocks skip; null
    # together with next_run_at: disabled
    due_at = models.DateTimeField(null=True)
    next_run_at = models.DateTimeField(null=True)
    last_run_at = models.DateTimeField(null=True)  # null: has never run
    last_job_id = models.UUIDField(null=True)
    run_count = models.BigIntegerField(default=0, db_default=0)
    # its latest run was refused, so it fires alone: a failure must not delay other schedules
    apart = models.BooleanField(default=False, db_default=False)
    noted = models.BigIntegerField(default=0, db_default=0)  # occurrences recorded in CronRun, ever
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    now: datetime  # time of the read, if read WITH_NOW

    class Meta:
        db_table = "ojs_cron_entry"
        verbose_name, verbose_name_plural = "schedule", "schedules"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="ojs_cron_name", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="ojs_cron_overlap", condition=Q(overlap_policy__in=OVERLAPS)
            ),
            models.CheckConstraint(
                name="ojs_cron_due_while_enabled",
                condition=Q(enabled=False, due_at=None, next_run_at=None)
                | Q(enabled=True, due_at__isnull=False, due_at__lte=F("next_run_at")),
            ),
        ]
        indexes = [
            # fire: the next due schedules
            models.Index(
                fields=["due_at", "id"], name="ojs_cron_due", condition=Q(due_at__isnull=False)
            ),
            # lists by name over all tenants
            models.Index(fields=["name", "id"], name="ojs_cron_list"),
            # count_schedules: schedules that make jobs of a type, without its version
            models.Index(
                BaseType(KeyTextTransform("type", "template")), "id", name="ojs_cron_type"
            ),
        ]

    def __str__(self) -> str:
        return str(self.name)


class CronRun(models.Model):
    """The outcome of an occurrence. A ring: number n of a schedule overwrites n - KEPT."""

    pk = models.CompositePrimaryKey("entry_id", "slot")
    entry = models.ForeignKey(CronEntry, models.CASCADE, db_index=False)
    slot = models.SmallIntegerField()  # number modulo KEPT
    number = models.BigIntegerField()
    scheduled_at = models.DateTimeField()  # the nominal time
    noted_at = models.DateTimeField(db_default=Now())
    job_id = models.UUIDField(null=True)  # null: no job was made
    reason = models.TextField(null=True)  # why no job was made
    detail = models.TextField(null=True)
    manual = models.BooleanField(default=False, db_default=False)  # by request, not by time

    class Meta:
        db_table = "ojs_cron_run"
        verbose_name, verbose_name_plural = "run of a schedule", "runs of schedules"

    def __str__(self) -> str:
        return f"{self.entry_id} {self.number}"


class CronTurn(models.Model):
    """Overlap slot: lets runs of a schedule follow one another (overlap policy `enqueue`).

    The row exists while a run is live. It can outlive a schedule that is deleted meanwhile.
    """

    entry_id = models.BigIntegerField(primary_key=True)  # no foreign key: see above
    holder = models.UUIDField()  # the running job
    waiting = ArrayField(models.UUIDField(), default=list)  # pending jobs, the next run first

    class Meta:
        db_table = "ojs_cron_turn"
        verbose_name = "turn of a schedule"
        indexes = [
            # pass: slots of jobs that ended
            models.Index(fields=["holder"], name="ojs_cron_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.holder}"


class PoolRow(models.Model):
    """A named group of workers with a policy; PoolQueue holds its queues in order. Spec: FS 6.

    Every change raises the configuration version, so all processes notice it.
    """

    name = NameField(primary_key=True)
    strategy = models.SmallIntegerField(choices=CHOICES)
    concurrency = models.IntegerField(null=True)  # active jobs of all its workers; null: any number
    isolated = models.BooleanField()  # its queues are closed to all other pools
    prevention = models.JSONField()  # members of domain.pool.Prevention
    tenants = models.JSONField(null=True)  # of domain.pool.TenantWeights; null: the default
    tenant = NameField(null=True)  # its workers get only jobs of this tenant; null: of any tenant
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_pool"
        verbose_name = "pool"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="ojs_pool_strategy",
                condition=Q(strategy__in=[int(one) for one in STRATEGIES.values()]),
            ),
            models.CheckConstraint(
                name="ojs_pool_concurrency",
                condition=Q(concurrency=None) | Q(concurrency__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return str(self.name)


class PoolQueue(models.Model):
    """A queue that a pool takes jobs from."""

    pk = models.CompositePrimaryKey("pool_id", "position")
    pool = models.ForeignKey(PoolRow, models.CASCADE, related_name="queues", db_index=False)
    position = models.SmallIntegerField()
    queue = NameField()
    weight = models.IntegerField(default=1, db_default=1)

    class Meta:
        db_table = "ojs_pool_queue"
        verbose_name = "queue of a pool"
        constraints = [
            models.UniqueConstraint(fields=["pool", "queue"], name="ojs_pool_queue_once"),
            models.CheckConstraint(name="ojs_pool_queue_weight", condition=Q(weight__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} {self.position} {self.queue}"


class QueueWatch(models.Model):
    """A queue of a pool that has jobs while none of them starts. Spec: fair-scheduling 11.1.

    An episode begins at `since`, or at the last start if that was later. It ends at the next start.
    The loop `watch` emits one event per episode and notes it in `told_at`. Without a row no job of
    the queue waits for long.
    """

    queue = NameField(primary_key=True)
    since = models.DateTimeField()
    told_at = models.DateTimeField(null=True)  # null, or before the episode: no event yet

    class Meta:
        db_table = "ojs_queue_watch"
        verbose_name_plural = "watched queues"

    def __str__(self) -> str:
        return f"{self.queue} since {self.since}"


class Overload(models.Model):
    """The time of a pool's last event of overload. Spec: contract 20.6."""

    pool = NameField(primary_key=True)  # no foreign key: pools of the settings have no row
    told_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_pool_overload"

    def __str__(self) -> str:
        return f"{self.pool} {self.told_at}"


class Configuration(models.Model):
    """Scheduling defaults without a pool. At most one row; null: the settings decide."""

    id = models.SmallIntegerField(primary_key=True)
    default_strategy = models.SmallIntegerField(null=True, choices=CHOICES)
    priority_scope = models.TextField(null=True, choices=SCOPES)
    tenants = models.JSONField(null=True)  # of domain.pool.TenantWeights; null: all weigh 1
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_scheduling"
        verbose_name = verbose_name_plural = "configuration of scheduling"
        constraints = [models.CheckConstraint(name="ojs_scheduling_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return "scheduling"
