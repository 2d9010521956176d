"""The event record, and the position of its aggregation."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models.fields import NameField, Xid8Field


class Event(models.Model):
    """One transition, written by the statement that made it. Spec: contract 12.3, 25.

    Readers go by (stamp, seq) and stop at the oldest running transaction. `stamp` is never below
    the writer's own transaction id, so no event can appear behind a reader. It is never below the
    transactions that the writer had seen committed, so the events of one job keep their order.
    """

    pk = models.CompositePrimaryKey("stamp", "seq")
    stamp = Xid8Field()
    seq = models.BigIntegerField()  # identity column, set by the database
    at = models.DateTimeField(db_default=Now())
    kind = models.SmallIntegerField()  # codes in domain/record/events.py
    job_id = models.UUIDField(null=True)  # null: about a queue or a worker
    queue = NameField(null=True)
    type = NameField(null=True)
    tenant = NameField(null=True)
    from_state = models.SmallIntegerField(null=True)  # null with to_state: not a change of state
    to_state = models.SmallIntegerField(null=True)
    attempt = models.IntegerField(null=True)
    bytes = models.IntegerField(null=True)  # change of the waiting bytes of the queue
    worker_id = models.TextField(null=True)
    pool = NameField(null=True)  # started: the pool of the worker; null: none
    limits = ArrayField(models.BigIntegerField(), null=True)  # started: the limits that counted it
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


class FoldPosition(models.Model):
    """The position up to which events were aggregated into the counts. One row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()

    class Meta:
        db_table = "ojs_fold_position"
        constraints = [models.CheckConstraint(name="ojs_fold_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.stamp)


class LogPosition(models.Model):
    """The event that the last log line was written for. One row; none while there is no log."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()
    seq = models.BigIntegerField()

    class Meta:
        db_table = "ojs_log_position"
        constraints = [models.CheckConstraint(name="ojs_log_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"{self.stamp} {self.seq}"
