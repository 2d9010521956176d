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
    """A customer whose jobs are limited and scheduled on their own. Spec: MT 5, 8.

    Every change raises the configuration version, so all processes notice it. The default tenant
    has a row only if it has been configured.
    """

    id = NameField(primary_key=True)  # pattern checked in domain/tenant_id.py
    name = models.TextField(null=True)
    state = models.TextField(choices=_choices(Standing), default=Standing.ACTIVE)
    max_concurrency = models.IntegerField(null=True)  # null, here and below: unlimited
    enqueue_limit = models.IntegerField(null=True)  # new jobs in any enqueue_period_ms
    enqueue_period_ms = models.BigIntegerField(null=True)
    max_queue_depth = models.IntegerField(null=True)  # available and scheduled jobs
    max_scheduled = models.IntegerField(null=True)
    max_queues = models.IntegerField(null=True)  # queues with live jobs
    fairness_weight = models.FloatField(null=True)  # null: the pools decide, else 1
    priority_boost = models.SmallIntegerField(default=0, db_default=0)  # of all its jobs
    quota_mode = models.TextField(choices=_choices(QuotaMode), default=QuotaMode.HARD)
    isolation = models.TextField(choices=_choices(ISOLATIONS), null=True)  # null: as in settings
    source = models.TextField(choices=_choices(Source), default=Source.DYNAMIC)
    # the entry of the settings that was applied last; null: the settings have none
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
    """The number of jobs of a tenant with a rate in a slot of time; `at` is the time of the last.

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
    """A noisy tenant; a tenant that is no longer noisy has no row."""

    tenant = NameField(primary_key=True)
    signals = models.JSONField()  # as domain/noise.py: reason, value, compared_with, threshold
    since = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField()  # the last look that found it noisy

    class Meta:
        db_table = "ojs_tenant_noise"
        verbose_name = verbose_name_plural = "noisy tenants"

    def __str__(self) -> str:
        return str(self.tenant)


class Survey(models.Model):
    """Recent activity of all tenants together, and the busiest tenants: one row.

    The loop `noise` writes it, so pages need not rank all tenants at each read.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()
    tenants = models.BigIntegerField()  # with any activity
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
    """A reduction of a noisy tenant until a time; `hold` decides if it is in force."""

    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True, related_name="throttle")
    hold = models.TextField(choices=_choices(Hold))
    action = models.TextField(choices=_choices(Action))
    factor = models.FloatField()
    had = models.FloatField()  # weight or concurrency at the start
    reasons = models.JSONField()  # codes of domain/noise.py at the start
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
