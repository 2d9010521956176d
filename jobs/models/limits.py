"""Limits, and what counts for them now."""

from django.db import models
from django.db.models.functions import Now

from jobs.models.fields import NameField


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
