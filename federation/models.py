"""Tables of federation. Verbs live in `services/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Source(models.TextChoices):
    """Who named a region."""

    STATIC = "static"  # the settings: not deleted, and changed again when they change
    DYNAMIC = "dynamic"  # an operator


class Status(models.TextChoices):
    """What the last probe of a region said. Spec: contract 23 §4."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class FederationConfig(models.Model):
    """What operators and settings said about the federation as a whole. One row.

    Whoever changes the registry locks it, so that rules over all regions hold at each commit.
    """

    id = models.SmallIntegerField(primary_key=True)
    said = models.JSONField(default=dict)  # members as PUT takes them; absent: the settings', else
    # what the settings said when they were last applied to the regions
    settings = models.JSONField(default=list)
    version = models.BigIntegerField(default=0, db_default=0)  # raised by every change
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_config"
        verbose_name = verbose_name_plural = "configuration"
        constraints = [models.CheckConstraint(name="ojs_federation_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"version {self.version}"


class Region(models.Model):
    """An OJS server that jobs may be sent to. Spec: federation 4.1, contract 23 §2.

    Secrets are held by reference alone: what reads this table learns none.
    """

    id = models.TextField(primary_key=True)  # pattern checked in domain/region.py
    url = models.TextField()
    weight = models.IntegerField(default=1)  # 0: chosen by neither overflow nor failover
    tags = ArrayField(models.TextField(), default=list)
    is_hub = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    drain = models.BooleanField(default=False)  # takes no new jobs
    max_queue_depth = models.IntegerField(null=True)  # null: never full
    auth_kind = models.TextField(default="none")
    token_ref = models.TextField(null=True)  # env:NAME or file:/path, as the next three; null: none
    cert_ref = models.TextField(null=True)
    key_ref = models.TextField(null=True)
    ca_ref = models.TextField(null=True)
    allow_insecure = models.BooleanField(default=False)
    source = models.TextField(choices=Source.choices, default=Source.DYNAMIC)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_region"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="ojs_federation_weight", condition=Q(weight__gte=0)),
            models.CheckConstraint(
                name="ojs_federation_auth_kind",
                condition=Q(auth_kind__in=["none", "bearer", "mtls"]),
            ),
            models.CheckConstraint(
                name="ojs_federation_source", condition=Q(source__in=Source.values)
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class RegionHealth(models.Model):
    """What this server's router knows of a region: status of the last probe, and the breaker.

    The columns of the breaker are those of `domain/breaker.py`; all routers of this server share
    them, and no other server's.
    """

    region = models.OneToOneField(Region, models.CASCADE, primary_key=True, related_name="health")
    status = models.TextField(choices=Status.choices, default=Status.UNKNOWN)
    ewma_ms = models.FloatField(null=True)  # null: never answered
    checked_at = models.DateTimeField(null=True)  # null: never probed
    breaker = models.TextField(default="closed")
    failures = models.IntegerField(default=0)  # in a row
    opened_at = models.DateTimeField(null=True)
    probe_until = models.DateTimeField(null=True)  # half-open: one call is in flight till then
    is_forced = models.BooleanField(default=False)  # an operator opened it
    last_error = models.TextField(null=True)  # of the last probe or call that failed

    class Meta:
        db_table = "ojs_federation_health"
        verbose_name_plural = "region health"
        constraints = [
            models.CheckConstraint(
                name="ojs_federation_status", condition=Q(status__in=Status.values)
            ),
            models.CheckConstraint(
                name="ojs_federation_breaker",
                condition=Q(breaker__in=["closed", "open", "half-open"]),
            ),
            models.CheckConstraint(
                name="ojs_federation_opened",
                condition=~Q(breaker="open") | Q(opened_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.region_id} {self.status} {self.breaker}"


class RegionLoad(models.Model):
    """How many jobs a region had when it was last asked; regions that never said have no row."""

    region = models.OneToOneField(Region, models.CASCADE, primary_key=True, related_name="load")
    available = models.BigIntegerField()
    active = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_federation_load"
        verbose_name_plural = "region load"

    def __str__(self) -> str:
        return f"{self.region_id} {self.available}+{self.active}"
