"""Queues, and the configuration version that claims and producers compare."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models.fields import NameField


class Queue(models.Model):
    """A named queue, made on first use. Spec: contract 10.2."""

    name = NameField(primary_key=True)
    paused_at = models.DateTimeField(null=True)  # null: not paused
    config = models.JSONField(default=dict, db_default={})  # normalized: domain/lanes/queues.py
    draining = models.BooleanField(default=False, db_default=False)  # takes no new jobs
    moves_to = NameField(null=True)  # draining: the target of its jobs; null: they are cancelled
    limit_id = models.BigIntegerField(null=True)  # the queue's Limit; null: none
    pressed_at = models.DateTimeField(null=True)  # start of the present warning; null: none
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_queue"
        ordering = ["name"]
        permissions = [("configure_queue", "Can configure queues")]
        indexes = [
            # pressure: queues that are bounded, or that have a warning
            models.Index(
                fields=["name"],
                name="ojs_queue_bounded",
                condition=Q(config__has_key="backpressure") | Q(pressed_at__isnull=False),
            ),
            # aggregate_events: the objectives of queues
            models.Index(
                fields=["name"],
                name="ojs_queue_objective",
                condition=Q(config__has_key="objective"),
            ),
            # open: which of a claim's queues are paused
            models.Index(
                fields=["name"], name="ojs_queue_paused", condition=Q(paused_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return str(self.name)


class QueueTemplate(models.Model):
    """The configuration of new queues. At most one row. Spec: contract 10.4."""

    id = models.SmallIntegerField(primary_key=True)
    config = models.JSONField()  # normalized, as a queue's
    policy = models.JSONField(null=True)  # of each queue's Limit; null: none
    slot_ms = models.BigIntegerField(null=True)  # of that Limit

    class Meta:
        db_table = "ojs_queue_template"
        constraints = [models.CheckConstraint(name="ojs_template_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.config)


class Terms(models.Model):
    """The version of the configuration that producers must have read. One row.

    Every change of a queue's configuration raises it. An enqueue names the version that it used and
    stores nothing when it is not the latest.
    """

    id = models.SmallIntegerField(primary_key=True)
    version = models.BigIntegerField()

    class Meta:
        db_table = "ojs_terms"
        constraints = [models.CheckConstraint(name="ojs_terms_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.version)
