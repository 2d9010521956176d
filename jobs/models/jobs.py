"""Jobs: the wide row of each, and the narrow row that is its state."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Least, Now

from jobs.models.fields import NameField


class Job(models.Model):
    """One job; the primary key is the only index, so that finishing a job is a HOT update."""

    id = models.UUIDField(primary_key=True)
    type = NameField()
    queue = NameField()
    tenant = NameField()
    lane_id = models.BigIntegerField()
    priority = models.SmallIntegerField()
    version = models.TextField(null=True)  # JSON, as sent: text or a number; null: none
    watched = models.BooleanField()  # an extension follows its end: see TransitionHooks.observe
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
    request_id = models.TextField(null=True)  # of the request that stored it; null: none

    class Meta:
        db_table = "ojs_job"
        permissions = [("view_classified_job", "Can see the arguments of classified jobs")]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class Ready(models.Model):
    """An available job. `seq` orders a lane, and the job keeps it when its worker loses the job."""

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
    """An active job, with its worker and the end of its lease."""

    id = models.UUIDField(primary_key=True)
    lane_id = models.BigIntegerField()
    seq = models.BigIntegerField(null=True)  # position in its lane; null: of release 0.1.0
    tenant = NameField()
    limits = ArrayField(models.BigIntegerField(), null=True)  # limits that hold it; null: none
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
            # reap: expired leases and executions
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
    """A waiting job: `kind` is the code of scheduled, pending or retryable."""

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
            # promote: the next due jobs
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
    """The index of ended jobs, newest first per queue, for lists and retention.

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
    job may still match. `ended` caches the end of the job, so that checks need not read every ended
    job again; null: not cached. A manual retry clears it.
    """

    job_id = models.UUIDField(primary_key=True)
    fingerprint = models.BinaryField()  # SHA-256
    created_at = models.DateTimeField()  # the job's
    ended = models.SmallIntegerField(null=True)  # terminal code

    class Meta:
        db_table = "ojs_unique"
        verbose_name, verbose_name_plural = "unique job", "unique jobs"
        indexes = [
            # unique_hits: the live jobs and the newest ended jobs of a fingerprint
            models.Index(fields=["fingerprint", "ended", "created_at"], name="ojs_unique_hits"),
        ]

    def __str__(self) -> str:
        return str(self.job_id)


class Awaited(models.Model):
    """A job whose end a process waits for: `ojs_tell_awaited` notifies its listener.

    Unlogged: after a crash of the database listeners ask again.
    """

    pk = models.CompositePrimaryKey("job_id", "listener")
    job_id = models.UUIDField()
    listener = models.UUIDField()  # the thread of a process that listens
    until = models.DateTimeField()  # the row counts as outlived from then on

    class Meta:
        db_table = "ojs_awaited"
        verbose_name, verbose_name_plural = "awaited job", "awaited jobs"
        indexes = [
            # await_end: rows of listeners that died
            models.Index(fields=["until"], name="ojs_awaited_until"),
        ]

    def __str__(self) -> str:
        return str(self.job_id)


class Progress(models.Model):
    """The latest progress of a job's current attempt. Spec: contract 29."""

    job_id = models.UUIDField(primary_key=True)
    attempt = models.IntegerField()
    progress = models.FloatField(null=True)
    message = models.TextField(null=True)
    data = models.JSONField(null=True)
    # where a later attempt may continue; the end of the attempt copies it into Job.attributes
    checkpoint = models.JSONField(null=True)
    history = models.JSONField(null=True)  # the last report of each earlier attempt
    updated_at = models.DateTimeField(db_default=Now())
    told_at = models.DateTimeField(null=True)  # the latest event of a report
    is_watched = models.BooleanField(default=True, db_default=True)  # by the loop that finds stalls
    stalled_at = models.DateTimeField(null=True)  # no report for long; the next report clears it

    class Meta:
        db_table = "ojs_progress"
        indexes = [
            # stall: reports that stopped. Without updated_at, a report shortly after another leaves
            # the index unchanged
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


class ArchivedJob(models.Model):
    """A job that retention removed while OJS_PRUNING_POLICY is archive. Spec: contract 28.3.

    `job` is its row of `ojs_job`, by column. The server never reads or removes it: the operator
    does.
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
    """When the result of a completed job expires, if the job set a time. Spec: contract 10.6."""

    id = models.UUIDField(primary_key=True)
    due_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_result_expiry"
        verbose_name_plural = "result expiries"
        indexes = [
            # the loop that drops due results
            models.Index(fields=["due_at"], name="ojs_result_due"),
        ]

    def __str__(self) -> str:
        return str(self.id)
