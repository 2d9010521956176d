"""Limits, and the active and started jobs that count for them."""

from django.db import models
from django.db.models.functions import Now

from jobs.models.fields import NameField


class Limit(models.Model):
    """A bound on the active jobs of a group, or on its starts in a time. Spec: contract 27.

    The group is a rate-limit key of jobs, a queue, a tenant or a type (`kind`, codes in
    domain/lanes/limits.py). `policy` and `override` have the members of `LimitPolicy`; the override
    applies until it ends. `Hold` has the active jobs, `Start` the times of starts.
    """

    kind = models.SmallIntegerField()
    tenant = NameField()  # "*": over all tenants
    key = NameField()
    policy = models.JSONField(null=True)  # null: unknown, only an override was set
    override = models.JSONField(null=True)
    override_until = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)  # requested by a service that a worker calls
    slot_ms = models.BigIntegerField(null=True)  # width of a slot of starts; null: no slots
    is_exceeded = models.BooleanField(default=False, db_default=False)  # as of its last event
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


class Start(models.Model):
    """How many jobs of a limit started in a slot of time; `at` is the last of these starts."""

    pk = models.CompositePrimaryKey("limit_id", "slot")
    limit_id = models.BigIntegerField()
    slot = models.DateTimeField()
    at = models.DateTimeField()
    jobs = models.IntegerField()

    class Meta:
        db_table = "ojs_start"

    def __str__(self) -> str:
        return f"{self.limit_id} {self.slot} {self.jobs}"


class LimitWait(models.Model):
    """Histogram rows: how many jobs of a limit waited at most as long as a bound before a start."""

    pk = models.CompositePrimaryKey("limit_id", "bucket")
    limit_id = models.BigIntegerField()
    bucket = models.SmallIntegerField()  # index of the bound in domain/record/events.py
    jobs = models.BigIntegerField()
    took_ms = models.BigIntegerField()  # sum over these jobs

    class Meta:
        db_table = "ojs_limit_wait"

    def __str__(self) -> str:
        return f"{self.limit_id} {self.bucket}"
