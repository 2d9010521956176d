"""Tables of webhooks. Verbs are in `services/`, statements that lock in `sql/`."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Status(models.TextChoices):
    """The state of a delivery. Spec: contract 26.1."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # after an attempt, with more attempts to follow
    DEAD = "dead"
    CANCELLED = "cancelled"


class Subscription(models.Model):
    """A selection of events and the address to send them to. Spec: contract 26.1, 26.2."""

    id = models.TextField(primary_key=True)
    url = models.TextField()
    events = models.JSONField(default=list)  # exact names, `job.*`, `*`
    queues = models.JSONField(default=list)  # empty: all
    job_types = models.JSONField(default=list)  # empty: all
    secret = models.BinaryField()  # encrypted: see jobs/domain/outbound/vault.py
    previous_secret = models.BinaryField(null=True)  # null: never rotated
    previous_valid_until = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)
    active_since = models.DateTimeField(db_default=Now())  # earlier events are not sent
    disabled_reason = models.TextField(null=True)  # null: the server did not switch it off
    metadata = models.JSONField(default=dict)
    tenant = models.TextField(null=True)  # null: events of all tenants
    timeout_ms = models.IntegerField(null=True)  # null: the setting
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    created_by = models.TextField(default="")
    last_delivery_at = models.DateTimeField(null=True)
    last_delivery_status = models.TextField(null=True)
    success_count = models.BigIntegerField(default=0, db_default=0)
    failure_count = models.BigIntegerField(default=0, db_default=0)  # failed attempts
    dead_in_row = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "ojs_webhook_subscription"
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.id} {self.url}"


class Delivery(models.Model):
    """An event for a subscription, until it arrived or was given up."""

    id = models.TextField(primary_key=True)
    subscription_id = models.TextField()  # the subscription may be gone
    tenant = models.TextField(null=True)
    event_id = models.TextField()
    event_type = models.TextField()
    body = models.BinaryField()  # the exact bytes that are signed
    status = models.TextField(choices=Status.choices, default=Status.PENDING)
    attempts = models.IntegerField(default=0, db_default=0)  # of all cycles
    tries = models.IntegerField(default=0, db_default=0)  # of this cycle
    # pending, failed: next try; during an attempt: end of its lease
    next_attempt_at = models.DateTimeField(null=True)
    last_status_code = models.IntegerField(null=True)
    last_error = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_webhook_delivery"
        verbose_name_plural = "deliveries"
        constraints = [
            # relay: a second read of an event creates no second delivery
            models.UniqueConstraint(
                fields=["subscription_id", "event_id"], name="ojs_webhook_delivery_once"
            ),
        ]
        indexes = [
            # claim: due deliveries of a subscription
            models.Index(
                fields=["subscription_id", "next_attempt_at"],
                name="ojs_webhook_delivery_due",
                condition=Q(next_attempt_at__isnull=False),
            ),
            # the lists, newest first
            models.Index(fields=["created_at", "id"], name="ojs_webhook_delivery_list"),
            models.Index(
                fields=["subscription_id", "created_at", "id"], name="ojs_webhook_delivery_of"
            ),
            # forget: deliveries that ended long ago
            models.Index(
                fields=["ended_at"],
                name="ojs_webhook_delivery_ended",
                condition=Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} to {self.subscription_id}"


class Attempt(models.Model):
    """A request for a delivery."""

    pk = models.CompositePrimaryKey("delivery_id", "number")
    delivery_id = models.TextField()
    number = models.IntegerField()
    at = models.DateTimeField(db_default=Now())
    took_ms = models.IntegerField()
    status_code = models.IntegerField(null=True)  # null: no answer
    error = models.TextField(null=True)
    response_body = models.TextField(null=True)  # its first KiB

    class Meta:
        db_table = "ojs_webhook_attempt"

    def __str__(self) -> str:
        return f"{self.delivery_id} {self.number}"


class Position(models.Model):
    """The position in the event record up to which deliveries exist. One row."""

    id = models.SmallIntegerField(primary_key=True)
    place = models.BigIntegerField()  # see jobs/domain/record/place.py

    class Meta:
        db_table = "ojs_webhook_position"
        constraints = [models.CheckConstraint(name="ojs_webhook_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.place)
