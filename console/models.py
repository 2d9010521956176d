"""What operators keep: views of the lists, and operations on many jobs with what they exported."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField


class SavedView(models.Model):
    """The filter and columns of a list under a name; a shared one is shown to everybody."""

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
            # the views of a page that are shown to everybody
            models.Index(
                fields=["page"], name="ojs_console_view_shared", condition=Q(is_shared=True)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Operation(models.Model):
    """Something that is done to every job that matches a filter, in slices. See `operations.py`.

    `place` is where the next slice goes on and is written with what the slice did, in one
    transaction; `slices` counts them, and a task that names another number does nothing.
    """

    verb = models.TextField()  # "cancel", "retry", "delete" or "export"
    wanted = models.JSONField()  # the filter, with times that do not move: `Scope.to_json`
    actor = models.TextField()  # as the audit log names who asked for it
    address = models.TextField(null=True)  # where that came from
    tenant = NameField(null=True)  # that whoever asked is bound to; null: none
    reason = models.TextField(null=True)
    estimate = models.BigIntegerField()  # jobs, when it began
    is_exact = models.BooleanField(default=False)  # that number was counted
    state = models.TextField(default="running")  # or "done", "stopped", "failed"
    is_stopping = models.BooleanField(default=False)  # it stops after the slice that runs
    place = models.JSONField()
    slices = models.BigIntegerField(default=0)
    matched = models.BigIntegerField(default=0)
    done = models.BigIntegerField(default=0)  # of these; the others had moved
    problem = models.TextField(null=True)  # why it failed
    options = models.JSONField(default=dict)  # of an export: format and columns
    bytes = models.BigIntegerField(default=0)  # of an export's file
    is_cut = models.BooleanField(default=False)  # an export took no more than it may
    started_at = models.DateTimeField(db_default=Now())
    moved_at = models.DateTimeField(db_default=Now())  # the last slice
    ended_at = models.DateTimeField(null=True)  # null: it runs

    class Meta:
        db_table = "ojs_console_operation"
        indexes = [
            # those that run: the look for ones that nobody drives any more
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
        """How much of it is done, from 0 to 1; None: that cannot be told."""
        if self.state == "done":
            return 1.0
        return min(0.99, self.matched / self.estimate) if self.estimate else None


class ExportPart(models.Model):
    """One slice of an exported file, compressed; parts follow one another by number."""

    pk: Any = models.CompositePrimaryKey("operation_id", "number")
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    content = models.BinaryField()  # gzip

    class Meta:
        db_table = "ojs_console_export_part"

    def __str__(self) -> str:
        return f"{self.operation_id} {self.number}"
