"""Operations of operators that can be undone, and the jobs as they were before."""

from django.db import models
from django.db.models.functions import Now

from jobs.models.fields import NameField


class Undo(models.Model):
    """A change of jobs by an operator, with the outcome of its undo."""

    at = models.DateTimeField(db_default=Now())
    until = models.DateTimeField()  # the records are deleted from then on
    actor = models.TextField()
    tenant = NameField(null=True)  # the actor's, when bound to one
    action = models.TextField()  # as in the audit log
    target = models.TextField()
    reason = models.TextField(null=True)
    state = models.TextField(default="running")  # or "done", "undoing", "undone"
    jobs = models.BigIntegerField(default=0)  # records
    bytes = models.BigIntegerField(default=0)  # of the records
    is_cut = models.BooleanField(default=False)  # it changed more jobs than it has records of
    before = models.JSONField(null=True)  # of a deleted queue: its configuration
    restored = models.BigIntegerField(default=0)
    left_out = models.BigIntegerField(default=0)  # jobs that an undo could not restore
    undone_by = models.TextField(null=True)
    undone_at = models.DateTimeField(null=True)  # when the undo was asked for

    class Meta:
        db_table = "ojs_undo"
        verbose_name, verbose_name_plural = "operation to undo", "operations to undo"
        indexes = [
            # undo_forget: the operations whose time is over
            models.Index(fields=["until"], name="ojs_undo_until"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.pk}"


class UndoJob(models.Model):
    """A job as it was before an operation, and as the operation left it.

    `image` has members of the job that the operation changed. `gone` has all rows of a job that it
    deleted.
    """

    pk = models.CompositePrimaryKey("undo_id", "job_id")
    undo_id = models.BigIntegerField()
    job_id = models.UUIDField()
    was = models.SmallIntegerField()  # state code
    queue = NameField()
    priority = models.SmallIntegerField()
    lane_id = models.BigIntegerField()
    seq = models.BigIntegerField(null=True)  # position in its lane, of an available job
    attempt = models.IntegerField()
    due_at = models.DateTimeField(null=True)
    enqueued_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    left_state = models.SmallIntegerField(null=True)  # null: the job was deleted
    left_at = models.DateTimeField()
    left_lane = models.BigIntegerField(null=True)
    image = models.JSONField(null=True)
    gone = models.JSONField(null=True)
    outcome = models.TextField(
        null=True
    )  # "restored", or why the undo left the job; null: none yet

    class Meta:
        db_table = "ojs_undo_job"
        verbose_name, verbose_name_plural = "job to restore", "jobs to restore"

    def __str__(self) -> str:
        return f"{self.undo_id} {self.job_id}"
