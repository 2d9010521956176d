"""Access, audit, and actions of operators."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models.fields import NameField


class BulkAnswer(models.Model):
    """The answer to a bulk request with an idempotency key, for 24 hours. Spec: contract 11.2."""

    pk = models.CompositePrimaryKey("operation", "tenant", "key")
    operation = NameField()
    tenant = NameField()  # of the API key; empty: bound to none
    key = NameField()
    request_hash = models.BinaryField()  # SHA-256 of the body
    status = models.SmallIntegerField(null=True)  # null: in the transaction that answers
    answer = models.BinaryField(null=True)  # JSON
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_bulk_answer"
        indexes = [
            # forget_answers: answers that are older than a day
            models.Index(fields=["created_at"], name="ojs_bulk_answer_age"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.key}"


class Audit(models.Model):
    """An entry of the audit log; entries are added and never changed. Spec: contract 31.5."""

    at = models.DateTimeField(db_default=Now())
    actor = models.TextField()
    action = models.TextField()  # "queue.paused"
    outcome = models.TextField(default="success", db_default="success")  # or "failure", "denied"
    target = models.TextField()  # name or id
    tenant = NameField(null=True)  # the actor's, when bound to one
    reason = models.TextField(null=True)
    request_id = models.TextField(null=True)
    address = models.TextField(null=True)  # of the client
    data = models.JSONField(default=dict)

    class Meta:
        db_table = "ojs_audit"
        verbose_name, verbose_name_plural = "audit entry", "audit entries"
        indexes = [
            # the audit lists of one action, of one actor and of one target
            models.Index(fields=["action", "id"], name="ojs_audit_action"),
            models.Index(fields=["actor", "id"], name="ojs_audit_actor"),
            models.Index(fields=["target", "id"], name="ojs_audit_target"),
            # retention: the oldest
            models.Index(fields=["at"], name="ojs_audit_at"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target}"


class ConfigChange(models.Model):
    """A change of the configuration of one object, with its documents before and after it.

    `name` is the object's within its kind, and within its tenant if it has one. Kinds are in
    `jobs/extensions/configuration.py`.
    """

    at = models.DateTimeField(db_default=Now())
    kind = NameField()
    name = models.TextField()
    tenant = NameField(null=True)  # of the object; null: it belongs to no tenant
    actor = models.TextField()
    action = models.TextField()  # as in the audit log
    reason = models.TextField(null=True)
    request_id = models.TextField(null=True)
    before = models.JSONField(null=True)  # null: the object did not exist
    after = models.JSONField(null=True)  # null: the object does not exist
    restored = models.BigIntegerField(null=True)  # the change whose version it restored; null: none

    class Meta:
        db_table = "ojs_config_change"
        verbose_name = "change of the configuration"
        verbose_name_plural = "changes of the configuration"
        indexes = [
            # the history of an object
            models.Index(fields=["kind", "name", "id"], name="ojs_config_change_object"),
            # the changes of an actor
            models.Index(fields=["actor", "id"], name="ojs_config_change_actor"),
            # retention: the oldest; a page from a time on
            models.Index(fields=["at"], name="ojs_config_change_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.pk}"


class LoginWindow(models.Model):
    """Recent failed logins of one account or address. Spec: contract 31.

    Kind `known` has no failures: the account logged in from that address until lately.
    """

    pk = models.CompositePrimaryKey("kind", "digest")
    kind = NameField()  # account, address, known
    digest = NameField()  # SHA-256: a password may be typed as a name by mistake
    tries = models.IntegerField(default=0, db_default=0)
    ends_at = models.DateTimeField()  # the row is void from then on

    class Meta:
        db_table = "ojs_login_window"
        indexes = [
            # retention: rows whose time is over
            models.Index(fields=["ends_at"], name="ojs_login_window_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.digest[:8]}"


class Maintenance(models.Model):
    """While the row exists and has not ended, no job is handed out or promoted. At most one row."""

    id = models.SmallIntegerField(primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    ends_at = models.DateTimeField(null=True)  # null: until it is switched off
    reason = models.TextField(null=True)
    actor = models.TextField()

    class Meta:
        db_table = "ojs_maintenance"
        constraints = [models.CheckConstraint(name="ojs_maintenance_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"since {self.started_at}"


class Replay(models.Model):
    """Counts of a job's retries after its end, apart from `meta`, which stays the producer's."""

    job_id = models.UUIDField(primary_key=True)
    replays = models.IntegerField()
    last_at = models.DateTimeField()
    rule = models.TextField(null=True)  # of the last replay; null: by hand
    by_rule = models.JSONField(default=dict)  # replays by the name of the rule

    class Meta:
        db_table = "ojs_replay"

    def __str__(self) -> str:
        return f"{self.job_id} {self.replays}"


class ReplayRule(models.Model):
    """A rule that retries jobs of the dead letter by itself. Spec: contract 28.4."""

    name = models.TextField(primary_key=True)
    position = models.IntegerField()
    queue = NameField(null=True)  # null: any, as for the next three
    type = NameField(null=True)
    error_type = models.TextField(null=True)
    tenant = NameField(null=True)
    delay_ms = models.BigIntegerField()  # after the end of the job
    max_replays = models.IntegerField()  # by this rule, of one job
    enabled = models.BooleanField(default=True)

    class Meta:
        db_table = "ojs_replay_rule"
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A bearer key; only the hash of its secret is kept. Spec: contract 31.2."""

    name = models.TextField()
    prefix = NameField(unique=True)
    secret_hash = models.BinaryField()  # see domain/access/hashers.py
    previous_hash = models.BinaryField(null=True)  # of the secret before the latest rotation
    previous_valid_until = models.DateTimeField(null=True)  # until when that secret is accepted
    scopes = models.JSONField(default=list)
    tenant = NameField(null=True)  # null: not bound to one
    queues_enqueue = models.JSONField(default=list)  # globs; empty: all
    queues_fetch = models.JSONField(default=list)
    job_types = models.JSONField(default=list)
    pool = NameField(null=True)  # of workers that use it; null: any
    region = NameField(null=True)  # the only region it may act for; null: any
    tls_subject = NameField(null=True)  # of the client certificate that maps to the key
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.TextField(default="")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # written at most once a minute

    class Meta:
        db_table = "ojs_api_key"
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(
                fields=["tls_subject"], condition=Q(revoked_at=None), name="ojs_api_key_subject"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (ojs_{self.prefix}_…)"


class Staff(models.Model):
    """The tenants that a user of the console may see and act on; without a row: all.

    Spec: contract 31.1. A row without tenants lets the user see no data, so that the deletion of a
    tenant gives no access.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="ojs_staff"
    )
    tenants = ArrayField(NameField(), default=list, blank=True)

    class Meta:
        db_table = "ojs_staff"
        verbose_name, verbose_name_plural = "restriction to tenants", "restrictions to tenants"

    def __str__(self) -> str:
        return f"{self.user}: {', '.join(self.tenants) or 'nothing'}"
