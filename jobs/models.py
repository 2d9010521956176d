"""Tables of the core. Verbs live in `services/`, hot statements in `sql/`.

The state of a live job is the narrow row it has: `Ready` is available, `Lease` is active, `Later`
is scheduled, pending or retryable. Each transition deletes one narrow row and adds another in one
statement, so the deleted row is the proof of the state that was left. `Job.state` is null until a
job ends; the wide row is written when a job is stored, when an attempt fails, and when it ends.
"""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Least, Now

DEFAULT_TENANT = "_default"


class NameField(models.TextField):  # type: ignore[type-arg]  # generic only for type checkers
    """Text compared byte by byte: names are identifiers, and the C collation is the fast one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Set the collation."""
        options.setdefault("db_collation", "C")
        super().__init__(*args, **options)


class Xid8Field(models.Field):  # type: ignore[type-arg]  # generic only for type checkers
    """A PostgreSQL transaction id that never wraps."""

    def db_type(self, connection: Any) -> str:
        """Name the column type."""
        return "xid8"


class Queue(models.Model):
    """A named queue, made on first use. Spec: contract 10.2."""

    name = NameField(primary_key=True)
    paused_at = models.DateTimeField(null=True)  # null: not paused
    config = models.JSONField(default=dict, db_default={})
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_queue"
        ordering = ["name"]

    def __str__(self) -> str:
        return str(self.name)


class Lane(models.Model):
    """Jobs that are equal before the scheduler: one queue, priority, tenant and route.

    `vt` is the lane's virtual time: a claim adds jobs/weight, and the lane with the smallest one
    is next. Extensions set weight, cap and paused through `services/lanes.py`; `active` and
    `blocked` belong to the claim.
    """

    queue = NameField()
    priority = models.SmallIntegerField()
    rank = models.GeneratedField(  # ascending index order, so that one row comparison bounds a scan
        expression=-F("priority"), output_field=models.SmallIntegerField(), db_persist=True
    )
    tenant = NameField()
    route = models.IntegerField(default=0, db_default=0)  # 0: any worker of the type
    weight = models.FloatField(default=1, db_default=1)
    cap = models.IntegerField(null=True)  # the tenant's limit of active jobs; null: none
    vt = models.FloatField(default=0, db_default=0)
    active = models.BooleanField(default=False, db_default=False)  # may hold ready rows
    blocked = models.BooleanField(default=False, db_default=False)  # its cap is reached
    paused = models.BooleanField(default=False, db_default=False)  # held by an operator

    class Meta:
        db_table = "ojs_lane"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "priority", "route"], name="ojs_lane_key"
            ),
            models.CheckConstraint(name="ojs_lane_weight_positive", condition=Q(weight__gt=0)),
        ]
        indexes = [
            # claim: the next lanes of a queue
            models.Index(
                fields=["queue", "rank", "vt"],
                name="ojs_lane_pick",
                condition=Q(active=True, blocked=False, paused=False),
            ),
            # release: the lanes a tenant's cap had blocked
            models.Index(fields=["tenant"], name="ojs_lane_capped", condition=Q(cap__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.priority}/{self.tenant}/{self.route}"


class Job(models.Model):
    """One job; the primary key is the only index, so that finishing a job is a HOT update."""

    id = models.UUIDField(primary_key=True)
    type = NameField()
    queue = NameField()
    tenant = NameField()
    lane_id = models.BigIntegerField()
    priority = models.SmallIntegerField()
    version = models.TextField(null=True)
    watched = models.BooleanField()  # an extension follows its end: see Extension.observe
    args = models.JSONField()
    meta = models.JSONField()
    attributes = models.JSONField()  # envelope members fixed at PUSH, returned at top level
    max_attempts = models.IntegerField()
    timeout_ms = models.BigIntegerField()
    visibility_ms = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    scheduled_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    activated_at = models.DateTimeField(null=True)
    state = models.SmallIntegerField(null=True)  # null while live, then a terminal code
    attempt = models.IntegerField(default=0)
    enqueued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    ran = models.BooleanField(default=False, db_default=False)  # ended by an attempt: completed_at
    dead_letter = models.BooleanField(null=True)
    result = models.JSONField(null=True)  # SQL null: none was sent; JSON null is a value
    error = models.JSONField(null=True)
    errors = models.JSONField(null=True)
    retry_delay_ms = models.BigIntegerField(null=True)

    class Meta:
        db_table = "ojs_job"

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class Ready(models.Model):
    """An available job. `seq` orders a lane; a job that comes back gets a new one."""

    id = models.UUIDField(primary_key=True)
    lane_id = models.BigIntegerField()
    seq = models.BigIntegerField()  # identity column, set by the database
    attempt = models.IntegerField()
    enqueued_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_ready"
        verbose_name, verbose_name_plural = "available job", "available jobs"
        constraints = [models.UniqueConstraint(fields=["lane_id", "seq"], name="ojs_ready_order")]
        indexes = [
            # expire: available jobs whose time has passed
            models.Index(
                fields=["expires_at"],
                name="ojs_ready_expires",
                condition=Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Lease(models.Model):
    """An active job and who holds it until when."""

    id = models.UUIDField(primary_key=True)
    lane_id = models.BigIntegerField()
    tenant = NameField()
    capped = models.BooleanField()  # its tenant had a cap at the claim
    watched = models.BooleanField()
    pool = NameField(null=True)
    worker_id = models.TextField(null=True)
    attempt = models.IntegerField()
    enqueued_at = models.DateTimeField()
    started_at = models.DateTimeField()
    lease_ms = models.BigIntegerField()
    lease_until = models.DateTimeField()
    timeout_at = models.DateTimeField()
    due_at = models.GeneratedField(
        expression=Least("lease_until", "timeout_at"),
        output_field=models.DateTimeField(),
        db_persist=True,
    )

    class Meta:
        db_table = "ojs_lease"
        verbose_name, verbose_name_plural = "active job", "active jobs"
        indexes = [
            # reap: leases and executions that ran out
            models.Index(fields=["due_at"], name="ojs_lease_due"),
            # reap of dead workers, active jobs of a worker
            models.Index(
                fields=["worker_id"],
                name="ojs_lease_worker",
                condition=Q(worker_id__isnull=False),
            ),
            # claim: active jobs of a pool with a cap
            models.Index(fields=["pool"], name="ojs_lease_pool", condition=Q(pool__isnull=False)),
            # claim: active jobs of a tenant with a cap
            models.Index(fields=["tenant"], name="ojs_lease_tenant", condition=Q(capped=True)),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Later(models.Model):
    """A job that waits: `kind` is the code of scheduled, pending or retryable."""

    id = models.UUIDField(primary_key=True)
    kind = models.SmallIntegerField()
    due_at = models.DateTimeField(null=True)  # null: pending, waits for its activation
    lane_id = models.BigIntegerField()
    attempt = models.IntegerField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_later"
        verbose_name, verbose_name_plural = "waiting job", "waiting jobs"
        indexes = [
            # promote: what is due next
            models.Index(
                fields=["due_at", "id"], name="ojs_later_due", condition=Q(due_at__isnull=False)
            ),
            # the console's lists of scheduled, pending and retryable jobs
            models.Index(fields=["kind", "id"], name="ojs_later_kind"),
            # expire: waiting jobs whose time has passed
            models.Index(
                fields=["expires_at"],
                name="ojs_later_expires",
                condition=Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Finished(models.Model):
    """The index of ended jobs, newest first per queue: what lists and retention walk.

    `kind` is a terminal code, or 9 for a discarded job in the dead letter.
    """

    pk = models.CompositePrimaryKey("queue", "kind", "finished_at", "id")
    queue = NameField()
    kind = models.SmallIntegerField()
    finished_at = models.DateTimeField()
    id = models.UUIDField()

    class Meta:
        db_table = "ojs_finished"

    def __str__(self) -> str:
        return str(self.id)


class Event(models.Model):
    """One transition, written by the statement that made it. Spec: contract 12.3, 25.

    Readers go by (stamp, seq) and stop at the oldest running transaction: `stamp` is never below
    the writer's own transaction id, so nothing can appear behind a reader, and never below what
    the writer had seen committed, so the events of one job keep their order.
    """

    pk = models.CompositePrimaryKey("stamp", "seq")
    stamp = Xid8Field()
    seq = models.BigIntegerField()  # identity column, set by the database
    at = models.DateTimeField(db_default=Now())
    kind = models.SmallIntegerField()  # codes in domain/events.py
    job_id = models.UUIDField(null=True)  # null: about a queue or a worker
    queue = NameField(null=True)
    type = NameField(null=True)
    tenant = NameField(null=True)
    from_state = models.SmallIntegerField(null=True)  # null with to_state: not a change of state
    to_state = models.SmallIntegerField(null=True)
    attempt = models.IntegerField(null=True)
    worker_id = models.TextField(null=True)
    took_ms = models.BigIntegerField(null=True)  # started: the wait; completed, failed: the run
    data = models.JSONField(null=True)

    class Meta:
        db_table = "ojs_event"
        indexes = [
            # the timeline of one job
            models.Index(
                fields=["job_id"], name="ojs_event_job", condition=Q(job_id__isnull=False)
            ),
            # the console's latest failures; 5 is a failed attempt
            models.Index(fields=["stamp", "seq"], name="ojs_event_failed", condition=Q(kind=5)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.job_id}"


class Worker(models.Model):
    """A worker that fetched or heartbeated. Spec: contract 9.1, 9.4."""

    id = models.TextField(primary_key=True)
    reported = models.SmallIntegerField(default=0, db_default=0)  # 0 running 1 quiet 2 terminate
    # quiet because it will exit, unlike one that may run again
    is_draining = models.BooleanField(default=False, db_default=False)
    directive = models.SmallIntegerField(default=0, db_default=0)  # the operator's, same codes
    hostname = models.TextField(null=True)
    pid = models.BigIntegerField(null=True)
    queues = models.JSONField(null=True)
    concurrency = models.IntegerField(null=True)
    labels = models.JSONField(null=True)
    pool = NameField(null=True)
    started_at = models.DateTimeField(db_default=Now())
    last_heartbeat_at = models.DateTimeField(null=True)  # null: never; only leases guard its jobs
    dead_at = models.DateTimeField(null=True)  # its jobs were taken away; cleared by a heartbeat
    stopped_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_worker"
        indexes = [
            # reap: workers that fell silent
            models.Index(
                fields=["last_heartbeat_at"],
                name="ojs_worker_silent",
                condition=Q(dead_at__isnull=True, stopped_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Progress(models.Model):
    """The latest progress of a job's current attempt. Spec: contract 29."""

    job_id = models.UUIDField(primary_key=True)
    attempt = models.IntegerField()
    progress = models.FloatField(null=True)
    message = models.TextField(null=True)
    data = models.JSONField(null=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_progress"

    def __str__(self) -> str:
        return str(self.job_id)


class Depth(models.Model):
    """Jobs of a queue in a state, as of the last folded event."""

    pk = models.CompositePrimaryKey("queue", "state")
    queue = NameField()
    state = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_depth"

    def __str__(self) -> str:
        return f"{self.queue} {self.state} {self.jobs}"


class Counts(models.Model):
    """What happened to the jobs of one queue and type, folded from events."""

    queue = NameField()
    type = NameField()
    enqueued = models.BigIntegerField(default=0, db_default=0)
    started = models.BigIntegerField(default=0, db_default=0)
    completed = models.BigIntegerField(default=0, db_default=0)
    failed = models.BigIntegerField(default=0, db_default=0)  # failed attempts
    retried = models.BigIntegerField(default=0, db_default=0)
    discarded = models.BigIntegerField(default=0, db_default=0)
    cancelled = models.BigIntegerField(default=0, db_default=0)
    expired = models.BigIntegerField(default=0, db_default=0)
    wait_ms = models.BigIntegerField(default=0, db_default=0)
    run_ms = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        abstract = True


class Total(Counts):
    """Counts since the beginning: the monotonic values of /metrics."""

    pk = models.CompositePrimaryKey("queue", "type")

    class Meta:
        db_table = "ojs_total"

    def __str__(self) -> str:
        return f"{self.queue} {self.type}"


class Minute(Counts):
    """Counts of one minute: throughput, the last hour, charts."""

    pk = models.CompositePrimaryKey("minute", "queue", "type")
    minute = models.DateTimeField()

    class Meta:
        db_table = "ojs_minute"

    def __str__(self) -> str:
        return f"{self.minute} {self.queue} {self.type}"


class Duration(models.Model):
    """Histogram rows: how many waits or runs of a queue and type fell below a bound."""

    pk = models.CompositePrimaryKey("queue", "type", "measure", "bucket")
    queue = NameField()
    type = NameField()
    measure = models.SmallIntegerField()  # codes in domain/events.py
    bucket = models.SmallIntegerField()  # index of the bound in domain/events.py
    jobs = models.BigIntegerField()
    took_ms = models.BigIntegerField()  # of these jobs together

    class Meta:
        db_table = "ojs_duration"

    def __str__(self) -> str:
        return f"{self.queue} {self.type} {self.measure} {self.bucket}"


class FoldPosition(models.Model):
    """How far events were folded into the counts. One row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()

    class Meta:
        db_table = "ojs_fold_position"
        constraints = [models.CheckConstraint(name="ojs_fold_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.stamp)


class LoopTick(models.Model):
    """When a loop last did its turn; written by its leader every few seconds."""

    name = NameField(primary_key=True)
    ticked_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_loop"

    def __str__(self) -> str:
        return str(self.name)


class ApiKey(models.Model):
    """A bearer key; only the hash of its secret is kept. Spec: contract 31.2."""

    name = models.TextField()
    prefix = NameField(unique=True)
    secret_hash = models.BinaryField()  # SHA-256 of 256 random bits
    scopes = models.JSONField(default=list)
    tenant = NameField(null=True)  # null: not bound to one
    queues_enqueue = models.JSONField(default=list)  # globs; empty: all
    queues_fetch = models.JSONField(default=list)
    job_types = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.TextField(default="")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # written at most once a minute

    class Meta:
        db_table = "ojs_api_key"
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (ojs_{self.prefix}_…)"
