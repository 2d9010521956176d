"""Tables of the console: saved views, and operations on many jobs with their exported files."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField


class SavedView(models.Model):
    """The filter and columns of a list under a name; all users see a shared view."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    page = models.TextField()  # "jobs" or "dead_letter"
    name = models.TextField()
    query = models.TextField()  # a query string as `JobFilter.link` writes it
    is_shared = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_console_view"
        constraints = [
            models.UniqueConstraint(fields=["owner", "page", "name"], name="ojs_console_view_name"),
        ]
        indexes = [
            # the shared views of a page
            models.Index(
                fields=["page"], name="ojs_console_view_shared", condition=Q(is_shared=True)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Operation(models.Model):
    """An action on each job that matches a filter, in slices. See `operations.py`.

    The transaction of a slice stores its outcome and `place`, the start of the next slice. `slices`
    counts the slices; a task that names another number does nothing.
    """

    verb = models.TextField()  # "cancel", "retry", "delete" or "export";
    wanted = models.JSONField()  # the filter with absolute times, or the region;
    actor = models.TextField()  # as named in the audit log
    address = models.TextField(null=True)  # client address of the actor
    tenant = NameField(null=True)  # tenant to which the actor is restricted; null: none
    reason = models.TextField(null=True)
    estimate = models.BigIntegerField()  # jobs at the start
    is_exact = models.BooleanField(default=False)  # whether `estimate` was counted
    state = models.TextField(default="running")  # or "done", "stopped", "failed"
    is_stopping = models.BooleanField(default=False)  # stops after the current slice
    place = models.JSONField()
    slices = models.BigIntegerField(default=0)
    matched = models.BigIntegerField(default=0)
    done = models.BigIntegerField(default=0)  # of the matched jobs; the rest had changed state
    problem = models.TextField(null=True)  # reason of the failure
    rate = models.IntegerField(default=2000, db_default=2000)  # most jobs a second
    undo_id = models.BigIntegerField(null=True)  # operation of the undo log; null: none
    options = models.JSONField(default=dict)  # of an export: format and columns
    bytes = models.BigIntegerField(default=0)  # of an export's file
    is_cut = models.BooleanField(default=False)  # an export reached its limit
    started_at = models.DateTimeField(db_default=Now())
    moved_at = models.DateTimeField(db_default=Now())  # time of the last slice
    ended_at = models.DateTimeField(null=True)  # null: running

    class Meta:
        db_table = "ojs_console_operation"
        indexes = [
            # running operations: find abandoned operations
            models.Index(
                fields=["moved_at"], name="ojs_console_operation_runs", condition=Q(state="running")
            ),
            # retention
            models.Index(
                fields=["ended_at"],
                name="ojs_console_operation_ended",
                condition=Q(ended_at__isnull=False),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="ojs_console_operation_ended_when_over",
                condition=Q(state="running", ended_at__isnull=True)
                | Q(ended_at__isnull=False) & ~Q(state="running"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.pk}"

    @property
    def part(self) -> float | None:
        """Return the done part, from 0 to 1; None if unknown."""
        if self.state == "done":
            return 1.0
        return min(0.99, self.matched / self.estimate) if self.estimate else None


class ExportPart(models.Model):
    """A slice of an exported file, compressed; `number` orders the slices."""

    pk: Any = models.CompositePrimaryKey("operation_id", "number")
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    content = models.BinaryField()  # gzip

    class Meta:
        db_table = "ojs_console_export_part"

    def __str__(self) -> str:
        return f"{self.operation_id} {self.number}"
