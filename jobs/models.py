"""Tables of the core. Verbs live in `services/`, hot statements in `sql/`.

The state of a live job is the narrow row it has: `Ready` is available, `Lease` is active, `Later`
is scheduled, pending or retryable. Each transition deletes one narrow row and adds another in one
statement, so the deleted row is the proof of the state that was left. `Job.state` is null until a
job ends; the wide row is written when a job is stored, when an attempt fails, and when it ends.
"""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest, Least, Now

from jobs.domain.envelope import MAX_PRIORITY

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
    config = models.JSONField(default=dict, db_default={})  # normalized: domain/queues.py
    draining = models.BooleanField(default=False, db_default=False)  # takes no new jobs
    moves_to = NameField(null=True)  # draining: the queue its jobs go to; null: they are cancelled
    limit_id = models.BigIntegerField(null=True)  # the queue's Limit; null: none
    pressed_at = models.DateTimeField(null=True)  # since when a warning is out; null: none is
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_queue"
        ordering = ["name"]
        indexes = [
            # pressure: the queues that are bounded, or were when they were warned of
            models.Index(
                fields=["name"],
                name="ojs_queue_bounded",
                condition=Q(config__has_key="backpressure") | Q(pressed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.name)


class QueueTemplate(models.Model):
    """What queues that are made from now on are configured with. At most one row. Spec: 10.4."""

    id = models.SmallIntegerField(primary_key=True)
    config = models.JSONField()  # normalized, as a queue's
    policy = models.JSONField(null=True)  # of the Limit that each queue gets; null: none
    slot_ms = models.BigIntegerField(null=True)  # of that Limit

    class Meta:
        db_table = "ojs_queue_template"
        constraints = [models.CheckConstraint(name="ojs_template_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.config)


class Terms(models.Model):
    """The version of what producers must know before they store a job. One row.

    Every change of a queue's configuration raises it; an enqueue names the version it went by and
    stores nothing when that is not the latest.
    """

    id = models.SmallIntegerField(primary_key=True)
    version = models.BigIntegerField()

    class Meta:
        db_table = "ojs_terms"
        constraints = [models.CheckConstraint(name="ojs_terms_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.version)


class Limit(models.Model):
    """How many jobs of a group may run at once, or start in a time. Spec: contract 27.

    The group is a rate-limit key of jobs, a queue, a tenant or a type (`kind`, codes in
    domain/limits.py). `policy` and `override` have the members of `LimitPolicy`; the override
    counts until it ends. Which jobs are active is in `Hold`, when they started in `Start`.
    """

    kind = models.SmallIntegerField()
    tenant = NameField()  # "*": whatever the tenant
    key = NameField()
    policy = models.JSONField(null=True)  # null: none is known, only an override was set
    override = models.JSONField(null=True)
    override_until = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)  # a worker was told so by whom it calls
    slot_ms = models.BigIntegerField(null=True)  # how finely starts are told apart; null: not noted
    is_exceeded = models.BooleanField(default=False, db_default=False)  # as last told by an event
    told_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_limit"
        constraints = [
            models.UniqueConstraint(fields=["kind", "tenant", "key"], name="ojs_limit_key")
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.tenant}/{self.key}"


class Hold(models.Model):
    """An active job that counts for a limit."""

    pk = models.CompositePrimaryKey("limit_id", "job_id")
    limit_id = models.BigIntegerField()
    job_id = models.UUIDField()

    class Meta:
        db_table = "ojs_hold"

    def __str__(self) -> str:
        return f"{self.limit_id} {self.job_id}"


class Debt(models.Model):
    """What a claim owes a lane that another held: the next one adds it to the lane's `vt`."""

    lane_id = models.BigIntegerField(db_index=True)
    cost = models.FloatField()  # jobs by weight

    class Meta:
        db_table = "ojs_debt"

    def __str__(self) -> str:
        return f"{self.lane_id} {self.cost}"


class Start(models.Model):
    """How many jobs of a limit started in a slot of time; `at` is when the last one did."""

    pk = models.CompositePrimaryKey("limit_id", "slot")
    limit_id = models.BigIntegerField()
    slot = models.DateTimeField()
    at = models.DateTimeField()
    jobs = models.IntegerField()

    class Meta:
        db_table = "ojs_start"

    def __str__(self) -> str:
        return f"{self.limit_id} {self.slot} {self.jobs}"


class LaneKey(models.Model):
    """The identity of a lane: one queue, priority, tenant, route and set of jobs' own limits.

    A table of its own, because `Lane` has a new version with every claim, and each would be looked
    at again by the check of a unique index.
    """

    tenant = NameField()
    queue = NameField()
    priority = models.SmallIntegerField()
    route = models.IntegerField(default=0, db_default=0)  # 0: any worker of the type
    # ids of Limits that its jobs name, ascending
    limits = ArrayField(models.BigIntegerField(), default=list, db_default=[])

    class Meta:
        db_table = "ojs_lane_key"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "priority", "route", "limits"],
                name="ojs_lane_key_unique",
            ),
        ]
        indexes = [
            GinIndex(fields=["limits"], name="ojs_lane_key_limits"),
            # lanes of an extension's routes; nobody writes to it but who makes such a lane
            models.Index(fields=["route"], name="ojs_lane_key_route", condition=Q(route__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.priority}/{self.tenant}/{self.route}"


class Lane(models.Model):
    """Jobs that are equal before the scheduler, and whose turn it is; the id is its `LaneKey`'s.

    `vt` is the lane's virtual time: a claim adds jobs/weight, and the lane with the smallest one
    is next. `queue` is where claims find the lane: the queue of its key or, of a tenant that is
    kept apart, `tenant:queue`, which no claim walks; those for the tenant find lanes by their keys
    (ADR 0013). Where lanes are `ordered`, all of a queue at once, `vt` is the `seq` of the first
    job, or less. `low` bounds the `seq` of its jobs from below, see ADR 0003. Extensions set
    weight, boost, the tenant's limit, ordered, timed, queue and paused through
    `services/lanes.py`; `active` and `blocked_*` belong to the claim.
    """

    # not unique in the database, nothing is: see LaneKey and migration 0002
    id = models.BigIntegerField(primary_key=True)
    queue = NameField()
    priority = models.SmallIntegerField()
    boost = models.SmallIntegerField(default=0, db_default=0)  # of the tenant, adds to the priority
    # the effective priority, negated, so that one row comparison bounds a scan of the index
    rank = models.GeneratedField(
        expression=-Least(MAX_PRIORITY, Greatest(-MAX_PRIORITY, F("priority") + F("boost"))),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    tenant = NameField()
    route = models.IntegerField(default=0, db_default=0)  # 0: any worker of the type
    weight = models.FloatField(default=1, db_default=1)
    # jobs of the queue are handed out oldest first, whosever they are
    ordered = models.BooleanField(default=False, db_default=False)
    # jobs of the queue cost by how long they run
    timed = models.BooleanField(default=False, db_default=False)
    # ids of Limits that hold its jobs back: its key's and the tenant's; null: none
    limits = ArrayField(models.BigIntegerField(), null=True)
    vt = models.FloatField(default=0, db_default=0)
    low = models.BigIntegerField(default=0, db_default=0)
    active = models.BooleanField(default=False, db_default=False)  # may hold ready rows
    blocked_by = models.BigIntegerField(null=True)  # the Limit that is reached
    blocked_until = models.DateTimeField(null=True)  # when that opens; null: with a job's end
    paused = models.BooleanField(default=False, db_default=False)  # held by an operator

    class Meta:
        db_table = "ojs_lane"
        constraints = [
            models.CheckConstraint(name="ojs_lane_weight_positive", condition=Q(weight__gt=0)),
        ]
        indexes = [
            # claim: the next lanes of a queue
            models.Index(
                # of lanes that are equally far the oldest comes first, wherever its row is
                fields=["queue", "rank", "vt", "id"],
                name="ojs_lane_pick",
                condition=Q(active=True, blocked_by__isnull=True, paused=False),
            ),
            # release: the lanes that a limit had blocked
            models.Index(
                fields=["blocked_by"],
                name="ojs_lane_blocked",
                condition=Q(blocked_by__isnull=False),
            ),
            # claim: the lanes whose limit opens by itself
            models.Index(
                fields=["queue", "blocked_until"],
                name="ojs_lane_opens",
                condition=Q(blocked_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.priority}/{self.tenant}/{self.route}"


class Turn(models.Model):
    """Where the turns of queues that are claimed together stand. Spec: fair-scheduling 7, 8.

    One row per key; arrays by position of `queues`. A claim adds the next version and deletes the
    one before, instead of updating it: the newest is the first that its index finds, however many
    dead ones a held snapshot keeps.
    """

    pk = models.CompositePrimaryKey("key", "seq")
    key = NameField()  # a pool's name, or `:` and a hash of what a request named
    seq = models.BigIntegerField()  # dispatches so far
    queues = ArrayField(NameField())
    served = ArrayField(models.BigIntegerField())  # the number of the queue's last dispatch
    opened = ArrayField(models.BigIntegerField())  # dispatches when it began to have jobs
    vts = ArrayField(models.FloatField())  # virtual times: a dispatch adds 1/weight
    is_open = ArrayField(models.BooleanField())  # had jobs at the last claim
    since = ArrayField(models.DateTimeField())  # waits since then: last dispatch, or opened
    floor = models.FloatField()  # the virtual time of the last dispatch
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_turn"
        indexes = [
            # prune_turns: those that nobody has taken for long
            models.Index(fields=["at"], name="ojs_turn_at"),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.seq}"


class Job(models.Model):
    """One job; the primary key is the only index, so that finishing a job is a HOT update."""

    id = models.UUIDField(primary_key=True)
    type = NameField()
    queue = NameField()
    tenant = NameField()
    lane_id = models.BigIntegerField()
    priority = models.SmallIntegerField()
    version = models.TextField(null=True)  # JSON, as sent: text or a number; null: it has none
    watched = models.BooleanField()  # an extension follows its end: see Extension.observe
    args = models.JSONField()
    meta = models.JSONField()
    attributes = models.JSONField()  # envelope members fixed at PUSH, returned at top level
    bytes = models.IntegerField(db_default=0)  # of args, meta and attributes as they were sent
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
    limits = ArrayField(models.BigIntegerField(), null=True)  # where it has a Hold; null: nowhere
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


class Unique(models.Model):
    """The fingerprint of a job that was sent with `unique`. Spec: contract 6.

    It stays as long as the job: states and period come with the new request, so that every stored
    job may still be a hit. `ended` is a note of checks that came by, so that they need not look at
    every ended job again; null says nothing. A manual retry takes the note back.
    """

    job_id = models.UUIDField(primary_key=True)
    fingerprint = models.BinaryField()  # SHA-256
    created_at = models.DateTimeField()  # the job's
    ended = models.SmallIntegerField(null=True)  # terminal code

    class Meta:
        db_table = "ojs_unique"
        verbose_name, verbose_name_plural = "unique job", "unique jobs"
        indexes = [
            # unique_hits: the live jobs and the newest ended ones of a fingerprint
            models.Index(fields=["fingerprint", "ended", "created_at"], name="ojs_unique_hits"),
        ]

    def __str__(self) -> str:
        return str(self.job_id)


class BulkAnswer(models.Model):
    """What a bulk request with an idempotency key was answered, for 24 hours. Spec: 11.2."""

    pk = models.CompositePrimaryKey("operation", "tenant", "key")
    operation = NameField()
    tenant = NameField()  # of the API key; empty: bound to none
    key = NameField()
    request_hash = models.BinaryField()  # SHA-256 of the body
    status = models.SmallIntegerField(null=True)  # null: in the transaction that answers
    answer = models.BinaryField(null=True)  # JSON
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_bulk_answer"
        indexes = [
            # forget_answers: those that are older than a day
            models.Index(fields=["created_at"], name="ojs_bulk_answer_age"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.key}"


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
    bytes = models.IntegerField(null=True)  # by which what waits in the queue grew or shrank
    worker_id = models.TextField(null=True)
    pool = NameField(null=True)  # started: the pool it went to; null: none
    limits = ArrayField(models.BigIntegerField(), null=True)  # started: those that counted it
    took_ms = models.BigIntegerField(null=True)  # started: the wait; completed, failed: the run
    waited_ms = models.BigIntegerField(null=True)  # completed: the wait before that run
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
    # which versions of types it handles, as an extension wrote it, and the number that names this
    # text; null: it never said
    declaration = models.JSONField(null=True)
    declared = models.BigIntegerField(null=True)
    pool = NameField(null=True)
    # of the caller that registered it, for good; null: anybody's
    tenant = NameField(null=True)
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
    # where a later attempt may go on; what ends the attempt copies it into Job.attributes
    checkpoint = models.JSONField(null=True)
    history = models.JSONField(null=True)  # the last report of each earlier attempt
    updated_at = models.DateTimeField(db_default=Now())
    told_at = models.DateTimeField(null=True)  # the latest event of a report
    is_watched = models.BooleanField(default=True, db_default=True)  # by the loop that finds stalls
    stalled_at = models.DateTimeField(null=True)  # no report for long; cleared by the next one

    class Meta:
        db_table = "ojs_progress"
        indexes = [
            # stall: reports that stopped coming. Not by updated_at: a report a moment after
            # another then leaves the index alone
            models.Index(
                fields=["told_at"],
                name="ojs_progress_quiet",
                condition=Q(is_watched=True),
            ),
            # metrics: jobs that stalled
            models.Index(
                fields=["stalled_at"],
                name="ojs_progress_stalled",
                condition=Q(stalled_at__isnull=False),
            ),
        ]

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


class QueueSize(models.Model):
    """Bytes of the jobs that wait in a queue, as of the last folded event."""

    queue = NameField(primary_key=True)
    bytes = models.BigIntegerField()

    class Meta:
        db_table = "ojs_queue_size"

    def __str__(self) -> str:
        return f"{self.queue} {self.bytes}"


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
    """Counts since the beginning: the monotonic values of /metrics.

    `tenant` is what metrics call it: see TenantLabel.
    """

    pk = models.CompositePrimaryKey("queue", "type", "tenant")
    tenant = NameField(default="", db_default="")

    class Meta:
        db_table = "ojs_total"

    def __str__(self) -> str:
        return f"{self.queue} {self.type}"


class Period(Counts):
    """Counts of one minute, hour or day: throughput, the last hour, charts. See ADR 0008.

    `span_s` is 60, 3600 or 86400 (domain/periods.py), `at` the beginning, in UTC; each span counts
    everything, and has a retention of its own.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "type")
    span_s = models.IntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_period"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.type}"


class Latency(models.Model):
    """How many jobs completed in a period after waiting and running that long together.

    `bucket` n holds what took at most 1.2 to the power of n milliseconds. Spec: contract 32.6.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "bucket")
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    bucket = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_latency"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.bucket}"


class TenantDepth(models.Model):
    """Jobs of a tenant by queue and state, as of the last folded event: for keys bound to it."""

    pk = models.CompositePrimaryKey("tenant", "queue", "state")
    tenant = NameField()
    queue = NameField()
    state = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_tenant_depth"

    def __str__(self) -> str:
        return f"{self.tenant} {self.queue} {self.state} {self.jobs}"


class TenantPeriod(models.Model):
    """What happened to the jobs of a tenant in a queue in one period; the spans are Period's."""

    pk = models.CompositePrimaryKey("tenant", "span_s", "at", "queue")
    tenant = NameField()
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    enqueued = models.BigIntegerField()
    started = models.BigIntegerField()
    completed = models.BigIntegerField()
    failed = models.BigIntegerField()
    wait_ms = models.BigIntegerField()  # of the started ones together
    run_ms = models.BigIntegerField()  # of the completed ones together

    class Meta:
        db_table = "ojs_tenant_period"
        indexes = [
            models.Index(fields=["span_s", "at"], name="ojs_tenant_period_at"),  # retention
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.at} {self.span_s} s {self.queue}"


class Duration(models.Model):
    """Histogram rows: how many waits or runs of a queue and type fell below a bound.

    `tenant` is what metrics call it: see TenantLabel.
    """

    pk = models.CompositePrimaryKey("queue", "type", "tenant", "measure", "bucket")
    queue = NameField()
    type = NameField()
    tenant = NameField(default="", db_default="")
    measure = models.SmallIntegerField()  # codes in domain/events.py
    bucket = models.SmallIntegerField()  # index of the bound in domain/events.py
    jobs = models.BigIntegerField()
    took_ms = models.BigIntegerField()  # of these jobs together

    class Meta:
        db_table = "ojs_duration"

    def __str__(self) -> str:
        return f"{self.queue} {self.type} {self.measure} {self.bucket}"


class TenantLabel(models.Model):
    """A tenant that metrics tell apart: the first ones with a job, for good. Spec: MT 15.4.

    The others are `_other` there; where tenants are not told apart at all, each is the empty name.
    """

    tenant = NameField(primary_key=True)
    place = models.IntegerField()  # 1: came first

    class Meta:
        db_table = "ojs_tenant_label"

    def __str__(self) -> str:
        return str(self.tenant)


class LimitWait(models.Model):
    """Histogram rows: how many jobs of a limit waited at most as long as a bound before a start."""

    pk = models.CompositePrimaryKey("limit_id", "bucket")
    limit_id = models.BigIntegerField()
    bucket = models.SmallIntegerField()  # index of the bound in domain/events.py
    jobs = models.BigIntegerField()
    took_ms = models.BigIntegerField()  # of these jobs together

    class Meta:
        db_table = "ojs_limit_wait"

    def __str__(self) -> str:
        return f"{self.limit_id} {self.bucket}"


class Tally(models.Model):
    """How often what is counted by its events was told: see sql/fold.sql."""

    pk = models.CompositePrimaryKey("kind", "name", "detail")
    kind = models.SmallIntegerField()  # of the event
    name = NameField()  # the queue, or the key of the limit as it is called on the wire
    detail = NameField()  # of a limit: which of its numbers was reached; else empty
    times = models.BigIntegerField()

    class Meta:
        db_table = "ojs_tally"
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.times}"


class Dispatch(models.Model):
    """Jobs of a queue that went to a pool, ever. Spec: contract 20 §6."""

    pk = models.CompositePrimaryKey("queue", "pool")
    queue = NameField()
    pool = NameField()  # empty: to workers in none
    jobs = models.BigIntegerField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_dispatch"
        verbose_name_plural = "dispatches"

    def __str__(self) -> str:
        return f"{self.queue} {self.pool} {self.jobs}"


class DispatchPeriod(models.Model):
    """Jobs of a queue that went to a pool in one second, minute or hour, and how long they waited.

    `span_s` is 1, 60 or 3600 (domain/periods.py): a window up to now is made of hours, of minutes
    before them and of seconds at its beginning.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "pool")
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    pool = NameField()  # empty: to workers in none
    jobs = models.BigIntegerField()
    wait_ms = models.BigIntegerField()  # of these jobs together

    class Meta:
        db_table = "ojs_dispatch_period"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.pool}"


class FoldPosition(models.Model):
    """How far events were folded into the counts. One row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()

    class Meta:
        db_table = "ojs_fold_position"
        constraints = [models.CheckConstraint(name="ojs_fold_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.stamp)


class Charge(models.Model):
    """A queue whose jobs cost by how long they run, and how far that was added to their lanes.

    `mean_ms` is of the last attempts, `jobs` of them. Spec: contract 20 §4.
    """

    queue = NameField(primary_key=True)
    stamp = Xid8Field()
    jobs = models.IntegerField()
    mean_ms = models.FloatField()

    class Meta:
        db_table = "ojs_charge"

    def __str__(self) -> str:
        return str(self.queue)


class LoopTick(models.Model):
    """When a loop last did its turn; written by its leader every few seconds."""

    name = NameField(primary_key=True)
    ticked_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_loop"

    def __str__(self) -> str:
        return str(self.name)


class Audit(models.Model):
    """Who did what, when and why; rows are added and never changed. Spec: contract 31.5."""

    at = models.DateTimeField(db_default=Now())
    actor = models.TextField()
    action = models.TextField()  # "queue.paused"
    outcome = models.TextField(default="success", db_default="success")  # or "failure", "denied"
    target = models.TextField()  # the name or id it was done to
    tenant = NameField(null=True)  # the actor's, when bound to one
    reason = models.TextField(null=True)
    request_id = models.TextField(null=True)
    address = models.TextField(null=True)  # where the request came from
    data = models.JSONField(default=dict)

    class Meta:
        db_table = "ojs_audit"
        verbose_name, verbose_name_plural = "audit entry", "audit entries"
        indexes = [
            # the audit lists of one action, of one actor and of what one thing was done to
            models.Index(fields=["action", "id"], name="ojs_audit_action"),
            models.Index(fields=["actor", "id"], name="ojs_audit_actor"),
            models.Index(fields=["target", "id"], name="ojs_audit_target"),
            # retention: the oldest
            models.Index(fields=["at"], name="ojs_audit_at"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target}"


class Maintenance(models.Model):
    """While the row is there and not over, nothing is handed out or promoted. At most one row."""

    id = models.SmallIntegerField(primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    ends_at = models.DateTimeField(null=True)  # null: until it is switched off
    reason = models.TextField(null=True)
    actor = models.TextField()

    class Meta:
        db_table = "ojs_maintenance"
        constraints = [models.CheckConstraint(name="ojs_maintenance_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"since {self.started_at}"


class Replay(models.Model):
    """How often a job was retried after its end: kept beside, its `meta` stays the producer's."""

    job_id = models.UUIDField(primary_key=True)
    replays = models.IntegerField()
    last_at = models.DateTimeField()
    rule = models.TextField(null=True)  # of the last replay; null: by hand
    by_rule = models.JSONField(default=dict)  # replays by the name of the rule

    class Meta:
        db_table = "ojs_replay"

    def __str__(self) -> str:
        return f"{self.job_id} {self.replays}"


class ReplayRule(models.Model):
    """What is retried from the dead letter by itself. Spec: contract 28.4."""

    name = models.TextField(primary_key=True)
    position = models.IntegerField()
    queue = NameField(null=True)  # null: any, as for the next three
    type = NameField(null=True)
    error_type = models.TextField(null=True)
    tenant = NameField(null=True)
    delay_ms = models.BigIntegerField()  # after the end of the job
    max_replays = models.IntegerField()  # by this rule, of one job
    enabled = models.BooleanField(default=True)

    class Meta:
        db_table = "ojs_replay_rule"
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A bearer key; only the hash of its secret is kept. Spec: contract 31.2."""

    name = models.TextField()
    prefix = NameField(unique=True)
    secret_hash = models.BinaryField()  # see domain/hashers.py
    previous_hash = models.BinaryField(null=True)  # of the secret before the latest rotation
    previous_valid_until = models.DateTimeField(null=True)  # until when that one opens, too
    scopes = models.JSONField(default=list)
    tenant = NameField(null=True)  # null: not bound to one
    queues_enqueue = models.JSONField(default=list)  # globs; empty: all
    queues_fetch = models.JSONField(default=list)
    job_types = models.JSONField(default=list)
    pool = NameField(null=True)  # of workers that use it; null: any
    tls_subject = NameField(null=True)  # of the client certificate that stands for the key
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.TextField(default="")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # written at most once a minute

    class Meta:
        db_table = "ojs_api_key"
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(
                fields=["tls_subject"], condition=Q(revoked_at=None), name="ojs_api_key_subject"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (ojs_{self.prefix}_…)"


class ArchivedJob(models.Model):
    """A job that retention removed while OJS_PRUNING_POLICY is archive. Spec: contract 28.3.

    `job` is its row of `ojs_job`, by column. Nothing reads or removes it: it is the operator's.
    """

    id = models.UUIDField(primary_key=True)
    queue = NameField()
    finished_at = models.DateTimeField()
    archived_at = models.DateTimeField(db_default=Now())
    job = models.JSONField()

    class Meta:
        db_table = "ojs_archived_job"

    def __str__(self) -> str:
        return str(self.id)


class ResultExpiry(models.Model):
    """When the result of a completed job goes, where it asked for it. Spec: contract 10.6."""

    id = models.UUIDField(primary_key=True)
    due_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_result_expiry"
        verbose_name_plural = "result expiries"
        indexes = [
            # the loop that drops results, for those that are due
            models.Index(fields=["due_at"], name="ojs_result_due"),
        ]

    def __str__(self) -> str:
        return str(self.id)
