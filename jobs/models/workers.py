"""Workers and the loops."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models.fields import NameField


class Worker(models.Model):
    """A worker that fetched or heartbeated. Spec: contract 9.1, 9.4."""

    id = models.TextField(primary_key=True)
    reported = models.SmallIntegerField(default=0, db_default=0)  # 0 running 1 quiet 2 terminate
    # quiet because it will exit, unlike a worker that may run again
    is_draining = models.BooleanField(default=False, db_default=False)
    directive = models.SmallIntegerField(default=0, db_default=0)  # the operator's, same codes
    hostname = models.TextField(null=True)
    pid = models.BigIntegerField(null=True)
    queues = models.JSONField(null=True)
    concurrency = models.IntegerField(null=True)
    labels = models.JSONField(null=True)
    # the versions of types that it handles, written by an extension, and a number that identifies
    # this text; null: not declared
    declaration = models.JSONField(null=True)
    declared = models.BigIntegerField(null=True)
    pool = NameField(null=True)
    # of the caller that registered it, for good; null: any tenant's
    tenant = NameField(null=True)
    started_at = models.DateTimeField(db_default=Now())
    # the last stored sign of life, see services/outcome/reap.py; null: no heartbeat yet, and only
    # leases guard its jobs
    last_heartbeat_at = models.DateTimeField(null=True)
    dead_at = models.DateTimeField(null=True)  # its jobs were returned; cleared by a sign of life
    stopped_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_worker"
        indexes = [
            # reap: workers that fell silent
            models.Index(
                fields=["last_heartbeat_at"],
                name="ojs_worker_silent",
                condition=Q(dead_at__isnull=True, stopped_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.id


class LoopTick(models.Model):
    """When a loop last ran; its leader writes it every few seconds."""

    name = NameField(primary_key=True)
    ticked_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_loop"

    def __str__(self) -> str:
        return str(self.name)
