"""Tables of findings. Verbs are in `services/`, statements in `sql/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField


class Finding(models.Model):
    """An incident that a rule found: open until the condition no longer holds.

    The loop `attention` writes it. A condition that returns within minutes opens the same row
    again, so a shared link stays valid.
    """

    id = models.UUIDField(primary_key=True)
    rule = NameField()
    subject = NameField()
    tenant = NameField(null=True)  # whose callers may see it; null: only unrestricted callers
    severity = models.SmallIntegerField()  # codes in domain/rule.py
    since = models.DateTimeField()  # the condition has held since then
    opened_at = models.DateTimeField(db_default=Now())  # time of the look that found it
    ended_at = models.DateTimeField(null=True)  # null: open
    jobs = models.BigIntegerField()
    tenants = models.IntegerField()  # with such jobs
    facts = models.JSONField()  # values for the words; members depend on the rule

    class Meta:
        db_table = "ojs_attention_finding"
        constraints = [
            # store: one open finding per rule and subject
            models.UniqueConstraint(
                fields=["rule", "subject"],
                name="ojs_attention_open",
                condition=Q(ended_at__isnull=True),
            ),
        ]
        indexes = [
            # store: findings that may open again; the history, and its end after a week
            models.Index(
                fields=["ended_at"],
                name="ojs_attention_ended",
                condition=Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}"


class Mute(models.Model):
    """A rule's findings about a subject that an operator does not want to see until a time."""

    pk = models.CompositePrimaryKey("rule", "subject")
    rule = NameField()
    subject = NameField()
    until = models.DateTimeField()
    reason = models.TextField()
    actor = models.TextField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_attention_mute"

    def __str__(self) -> str:
        return f"{self.rule} {self.subject} until {self.until}"


class RuleChange(models.Model):
    """An operator's changes of a rule; a rule without a row has its defaults."""

    rule = NameField(primary_key=True)
    is_enabled = models.BooleanField(default=True, db_default=True)
    thresholds = models.JSONField(default=dict)  # by name; absent: the default
    overrides = models.JSONField(default=dict)  # by subject: thresholds by name
    updated_at = models.DateTimeField(db_default=Now())
    updated_by = models.TextField(default="")

    class Meta:
        db_table = "ojs_attention_rule"

    def __str__(self) -> str:
        return str(self.rule)


class Note(models.Model):
    """Markdown for operators about a queue, a type, or the findings of a rule."""

    pk = models.CompositePrimaryKey("about", "name")
    about = NameField()  # "queue", "type" or "alert"
    name = NameField()  # of an alert: the id of the rule
    text = models.TextField()
    updated_at = models.DateTimeField(db_default=Now())
    updated_by = models.TextField()

    class Meta:
        db_table = "ojs_attention_note"

    def __str__(self) -> str:
        return f"{self.about} {self.name}"


class ProcedureRow(models.Model):
    """An operation on the jobs of a filter, as operators saved it: domain/runbook.py."""

    name = NameField(primary_key=True)
    about = NameField()  # as of a note
    subject = NameField()
    verb = NameField()
    wanted = models.JSONField()
    rate = models.IntegerField(null=True)  # null: the default of the operations
    reason = models.TextField(null=True)
    description = models.TextField(null=True)
    updated_at = models.DateTimeField(db_default=Now())
    updated_by = models.TextField()

    class Meta:
        db_table = "ojs_attention_procedure"
        verbose_name = "procedure"
        indexes = [
            # the procedures of an object
            models.Index(fields=["about", "subject"], name="ojs_attention_procedure_of"),
        ]

    def __str__(self) -> str:
        return str(self.name)


class Look(models.Model):
    """The last run of the loop. One row."""

    id = models.SmallIntegerField(primary_key=True)
    at = models.DateTimeField()
    failed = ArrayField(NameField(), default=list)  # rules whose statement failed

    class Meta:
        db_table = "ojs_attention_look"
        constraints = [models.CheckConstraint(name="ojs_attention_one_look", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.at)


class Sample(models.Model):
    """The available jobs of a queue at the start of a minute, for an hour."""

    pk = models.CompositePrimaryKey("at", "queue")
    at = models.DateTimeField()
    queue = NameField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_attention_sample"

    def __str__(self) -> str:
        return f"{self.queue} {self.at} {self.jobs}"


class Drifted(models.Model):
    """The counts of one table that a comparison with the jobs found wrong and corrected."""

    pk = models.CompositePrimaryKey("at", "table")
    at = models.DateTimeField(db_default=Now())
    table = NameField()
    counts = models.IntegerField()

    class Meta:
        db_table = "ojs_attention_drift"

    def __str__(self) -> str:
        return f"{self.table} {self.at} {self.counts}"
