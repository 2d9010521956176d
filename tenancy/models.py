"""Tables of tenants. Verbs live in `services/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField
from tenancy.domain.tenant import ISOLATIONS, QuotaMode, Source, Standing
from tenancy.domain.throttle import Action, Hold


def _choices(names: object) -> list[tuple[str, str]]:
    return [(str(name), str(name)) for name in names]  # type: ignore[attr-defined]  # iterable


class Tenant(models.Model):
    """A customer whose jobs are limited and scheduled apart. Spec: MT 5, 8.

    Every change raises the version of the terms, by which processes notice it. The default tenant
    has a row only where something was said about it.
    """

    id = NameField(primary_key=True)  # pattern checked in domain/tenant_id.py
    name = models.TextField(null=True)
    state = models.TextField(choices=_choices(Standing), default=Standing.ACTIVE)
    max_concurrency = models.IntegerField(null=True)  # null, here and below: unlimited
    enqueue_limit = models.IntegerField(null=True)  # so many new jobs in any enqueue_period_ms
    enqueue_period_ms = models.BigIntegerField(null=True)
    max_queue_depth = models.IntegerField(null=True)  # available and scheduled jobs
    max_scheduled = models.IntegerField(null=True)
    max_queues = models.IntegerField(null=True)  # with jobs that have not ended
    fairness_weight = models.FloatField(null=True)  # null: as pools have it, else 1
    priority_boost = models.SmallIntegerField(default=0, db_default=0)  # of all its jobs
    quota_mode = models.TextField(choices=_choices(QuotaMode), default=QuotaMode.HARD)
    isolation = models.TextField(choices=_choices(ISOLATIONS), null=True)  # null: the settings'
    source = models.TextField(choices=_choices(Source), default=Source.DYNAMIC)
    # what the settings said when they were last applied; null: they say nothing
    settings = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_tenant"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="ojs_tenant_weight_positive",
                condition=Q(fairness_weight=None) | Q(fairness_weight__gt=0),
            ),
            models.CheckConstraint(
                name="ojs_tenant_rate_whole",
                condition=Q(enqueue_limit=None, enqueue_period_ms=None)
                | Q(enqueue_limit__gt=0, enqueue_period_ms__gt=0),
            ),
            models.CheckConstraint(
                name="ojs_tenant_state", condition=Q(state__in=[str(one) for one in Standing])
            ),
            models.CheckConstraint(
                name="ojs_tenant_quota", condition=Q(quota_mode__in=[str(one) for one in QuotaMode])
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Enqueued(models.Model):
    """How many jobs of a tenant with a rate came in a slot of time; `at` is when the last one did.

    Rows live as long as the period of the rate.
    """

    pk = models.CompositePrimaryKey("tenant", "slot")
    tenant = NameField()
    slot = models.DateTimeField()
    at = models.DateTimeField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_tenant_enqueued"
        verbose_name = verbose_name_plural = "jobs enqueued under a rate"

    def __str__(self) -> str:
        return f"{self.tenant} {self.slot} {self.jobs}"


class Noise(models.Model):
    """A tenant that was found to be a noisy neighbour; one that no longer is has no row."""

    tenant = NameField(primary_key=True)
    signals = models.JSONField()  # as domain/noise.py: reason, value, compared_with, threshold
    since = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField()  # when it was last found to be

    class Meta:
        db_table = "ojs_tenant_noise"
        verbose_name = verbose_name_plural = "noisy tenants"

    def __str__(self) -> str:
        return str(self.tenant)


class Survey(models.Model):
    """What all tenants did together lately, and the busiest of them: one row.

    Noted by the loop `noise`, so that pages need not rank all tenants whenever they are read.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()
    tenants = models.BigIntegerField()  # that did anything
    enqueued = models.BigIntegerField()
    started = models.BigIntegerField()
    weights = models.FloatField()  # of all that have jobs to hand out
    busiest = ArrayField(NameField())  # the busiest first
    activity = ArrayField(models.BigIntegerField())  # by position: new jobs and starts
    loud = ArrayField(NameField())  # of the busiest

    class Meta:
        db_table = "ojs_tenant_survey"
        verbose_name = verbose_name_plural = "survey of tenants"

    def __str__(self) -> str:
        return f"{self.tenants} tenants at {self.at}"


class Throttle(models.Model):
    """What is taken from a noisy tenant until a time; `hold` says whether it counts."""

    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True, related_name="throttle")
    hold = models.TextField(choices=_choices(Hold))
    action = models.TextField(choices=_choices(Action))
    factor = models.FloatField()
    had = models.FloatField()  # the weight, or the concurrency, when it began
    reasons = models.JSONField()  # codes of domain/noise.py, when it began
    since = models.DateTimeField(db_default=Now())
    until = models.DateTimeField()

    class Meta:
        db_table = "ojs_tenant_throttle"
        constraints = [
            models.CheckConstraint(
                name="ojs_tenant_throttle_hold",
                condition=Q(hold__in=[str(one) for one in Hold]),
            ),
            models.CheckConstraint(
                name="ojs_tenant_throttle_action",
                condition=Q(action__in=[str(one) for one in Action]),
            ),
            models.CheckConstraint(
                name="ojs_tenant_throttle_factor", condition=Q(factor__gt=0, factor__lt=1)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.action}"
