"""Tables of workflows. Verbs are in `services/`, statements in `sql/`.

A workflow of any kind is one row. Its steps wait for other steps, and it ends with the last of its
members. A nested workflow is a row of its own, and a step of the outer workflow stands for it. All
rows of a tree name its `root_id`. The tables have no foreign keys, because rows are written in bulk
and removed together.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now

from jobs.models import BaseType, NameField


class Workflow(models.Model):
    """A chain, group, batch or step graph. Spec: contract 8."""

    id = models.UUIDField(primary_key=True)
    root_id = models.UUIDField()
    parent_id = models.UUIDField(null=True)  # null: not nested
    parent_step = models.IntegerField(null=True)
    # the job whose step started it and waits for its end; null: none
    parent_job_id = models.UUIDField(null=True)
    ends_with_parent = models.BooleanField(default=False, db_default=False)  # by a cancel
    depth = models.SmallIntegerField()  # 1: not nested
    kind = models.SmallIntegerField()  # codes of `kind` and `state` in domain/kinds.py
    state = models.SmallIntegerField()
    name = models.TextField()
    tenant = NameField()
    caller = models.JSONField()  # caller for later steps' jobs: tenant of the key, tenant header
    callbacks = ArrayField(models.SmallIntegerField())  # callbacks that the workflow has
    members = models.IntegerField()  # steps that are no callbacks
    slots = models.SmallIntegerField()  # rows that count its members down; 0: this row does
    open = models.IntegerField()  # members that have not ended, or slots with such members
    completed = models.IntegerField(default=0, db_default=0)  # of a wide workflow: in closed slots
    failed = models.IntegerField(default=0, db_default=0)
    calls = models.SmallIntegerField(null=True)  # fired callbacks that have not ended; null: none
    calls_failed = models.SmallIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    prune_at = models.DateTimeField(null=True)  # next check whether the workflow may be removed

    class Meta:
        db_table = "ojs_workflow"
        indexes = [
            # list: by state, newest first
            models.Index(
                fields=["state", "-id"],
                name="ojs_workflow_list",
                condition=Q(parent_id__isnull=True),
            ),
            # list of a tenant
            models.Index(
                fields=["tenant", "state", "-id"],
                name="ojs_workflow_tenant",
                condition=Q(parent_id__isnull=True),
            ),
            # show: the nested workflows of a tree
            models.Index(
                fields=["root_id"],
                name="ojs_workflow_tree",
                condition=Q(parent_id__isnull=False),
            ),
            # prune
            models.Index(
                fields=["prune_at"],
                name="ojs_workflow_prune",
                condition=Q(prune_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}".strip()


class Step(models.Model):
    """A member or a callback of a workflow: a job, or a nested workflow."""

    pk = models.CompositePrimaryKey("workflow_id", "index")
    workflow_id = models.UUIDField()
    index = models.IntegerField()
    name = models.TextField()  # its id on the wire
    type = NameField()
    callback = models.SmallIntegerField()  # codes in domain/kinds.py; 0: a member
    state = models.SmallIntegerField()
    depends_on = ArrayField(models.IntegerField())
    dependents = ArrayField(models.IntegerField())
    waits = models.IntegerField()  # dependencies that have not completed, or slots with such
    slots = models.SmallIntegerField()  # rows that count its dependencies down; 0: this row does
    child_id = models.UUIDField(null=True)  # the nested workflow of the step
    job_id = models.UUIDField(null=True)  # null: no job yet
    request = models.JSONField(null=True)  # PUSH request of the job; null as soon as the job exists
    result = models.JSONField(null=True)  # a copy, because jobs may be removed before the workflow
    error = models.JSONField(null=True)
    due_at = models.DateTimeField(null=True)  # of a due step: next try to begin
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ojs_workflow_step"
        constraints = [
            # record: the step of a job
            models.UniqueConstraint(
                fields=["job_id"], name="ojs_workflow_step_job", condition=Q(job_id__isnull=False)
            ),
        ]
        indexes = [
            # begin: steps whose job was refused
            models.Index(
                fields=["due_at"], name="ojs_workflow_step_due", condition=Q(due_at__isnull=False)
            ),
            # future_steps: steps that will make jobs of a type; states 0 and 1 wait
            models.Index(
                BaseType(KeyTextTransform("type", "request")),
                "workflow_id",
                "index",
                name="ojs_workflow_step_sends",
                condition=Q(request__isnull=False, state__in=[0, 1]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.workflow_id}"


class Slot(models.Model):
    """Counts a part of the steps that a wide step, or the end of a wide workflow, waits for.

    The end of a member locks the row that it counts down until the commit. With one row per
    workflow, the members of a large group would end one after the other.
    """

    pk = models.CompositePrimaryKey("workflow_id", "target", "slot")
    workflow_id = models.UUIDField()
    target = models.IntegerField()  # a step; -1: the end of the workflow
    slot = models.SmallIntegerField()  # the position of the ended step, modulo the number of slots
    open = models.IntegerField()
    completed = models.IntegerField(default=0, db_default=0)
    failed = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "ojs_workflow_slot"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.target} {self.slot}"
