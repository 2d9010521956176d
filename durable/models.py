"""Tables of durable execution. Verbs are in `services/`, statements that lock in `sql/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now


class Checkpoint(models.Model):
    """The latest checkpoint of a job, from which its next attempt continues. Spec: contract 34.1.

    `state` is JSON text as it was sent: the server never reads into it for a save.
    """

    job_id = models.UUIDField(primary_key=True)
    state = models.TextField()
    bytes = models.IntegerField()  # of the state
    sequence = models.IntegerField()  # number of the save, from 1
    created_at = models.DateTimeField(db_default=Now())  # of this save
    told_at = models.DateTimeField(db_default=Now())  # the latest event of a save
    is_alone = models.BooleanField()  # no other extension follows the job: see Job.watched

    class Meta:
        db_table = "ojs_checkpoint"

    def __str__(self) -> str:
        return f"{self.job_id} {self.sequence}"


class Signal(models.Model):
    """An event that was sent to a job, until a step takes it. Spec: contract 34.2."""

    job_id = models.UUIDField()
    name = models.TextField()
    payload = models.TextField()  # JSON text
    sent_at = models.DateTimeField(db_default=Now())
    sender = models.TextField()

    class Meta:
        db_table = "ojs_signal"
        indexes = [
            # the signals of a job, in the order in which they came
            models.Index(fields=["job_id", "id"], name="ojs_signal_of_job"),
        ]

    def __str__(self) -> str:
        return f"{self.name} for {self.job_id}"


class Wait(models.Model):
    """The step for which a suspended job waits. It may be outlived: the job's state decides."""

    job_id = models.UUIDField(primary_key=True)
    step = models.TextField()
    signals = ArrayField(models.TextField(), default=list)  # any of them wakes it; empty: a sleep
    until = models.DateTimeField()
    since = models.DateTimeField(db_default=Now())
    is_woken = models.BooleanField(default=False, db_default=False)  # by a signal, before `until`

    class Meta:
        db_table = "ojs_wait"

    def __str__(self) -> str:
        return f"{self.job_id} {self.step}"
