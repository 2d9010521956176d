"""Moves of tenants between cells, and the jobs that are on their way."""

from django.db import models
from django.db.models.functions import Now

from jobs.models.fields import NameField


class Move(models.Model):
    """The latest move of a tenant out of this cell or into it.

    Both cells have a row with the same `move_id`. Each step of the move locks its cell's row first,
    changes jobs and row in one transaction, and does nothing if the row shows that it was done.
    """

    tenant = NameField(primary_key=True)
    move_id = models.UUIDField()
    is_source = models.BooleanField()  # this cell is the old cell
    step = models.TextField()  # tenancy/domain/move.py
    other = models.TextField()  # the other cell's database, without its password
    address = models.TextField(null=True)  # of the new cell, for producers; null: not said
    was_suspended = models.BooleanField(default=False)  # before the move; so it stays suspended
    batch = models.BigIntegerField(default=0)  # the last that was packed here, or stored here
    jobs = models.JSONField(default=dict)  # packed here, or stored here: numbers by state code
    kept = models.JSONField(default=dict)  # the old cell: what extensions took out, by their names
    began_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_move"
        verbose_name, verbose_name_plural = "move of a tenant", "moves of tenants"

    def __str__(self) -> str:
        return f"{self.tenant} {self.step}"


class MovingJob(models.Model):
    """A job that a move takes to another cell, in the order of `n`.

    With a `batch` the job is in no other table of this cell: `image` has all its rows. The row goes
    when the new cell has stored the job.
    """

    pk = models.CompositePrimaryKey("tenant", "n")
    tenant = NameField()
    n = models.BigIntegerField()
    job_id = models.UUIDField()
    batch = models.BigIntegerField(null=True)  # null: listed only
    image = models.JSONField(null=True)

    class Meta:
        db_table = "ojs_moving_job"
        verbose_name, verbose_name_plural = "moving job", "moving jobs"

    def __str__(self) -> str:
        return f"{self.tenant} {self.job_id}"
