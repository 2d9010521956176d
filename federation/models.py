"""Tables of federation. Verbs live in `services/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField


class Source(models.TextChoices):
    """Who named a region."""

    STATIC = "static"  # the settings: not deleted, and changed again when they change
    DYNAMIC = "dynamic"  # an operator


class Status(models.TextChoices):
    """What the last probe of a region said. Spec: contract 23.4."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class FederationConfig(models.Model):
    """What operators and settings said about the federation as a whole. One row.

    Whoever changes the registry locks it, so that rules over all regions hold at each commit.
    """

    id = models.SmallIntegerField(primary_key=True)
    said = models.JSONField(default=dict)  # members as PUT takes them; absent: the settings', else
    # what the settings said when they were last applied to the regions
    settings = models.JSONField(default=list)
    version = models.BigIntegerField(default=0, db_default=0)  # raised by every change
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_config"
        verbose_name = verbose_name_plural = "configuration"
        constraints = [models.CheckConstraint(name="ojs_federation_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"version {self.version}"


class Region(models.Model):
    """An OJS server that jobs may be sent to. Spec: federation 4.1, contract 23.2.

    What reads this table learns no secret: a token is encrypted. Of a region of the settings these
    say the URL and the credentials; what is stored of them is for older processes alone.
    """

    id = models.TextField(primary_key=True)  # pattern checked in domain/region.py
    url = models.TextField()
    weight = models.IntegerField(default=1)  # 0: chosen by neither overflow nor failover
    tags = ArrayField(models.TextField(), default=list)
    is_hub = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    drain = models.BooleanField(default=False)  # takes no new jobs
    max_queue_depth = models.IntegerField(null=True)  # null: never full
    sealed_token = models.BinaryField(null=True)  # encrypted: see jobs/domain/vault.py; null: none
    # Written for regions of the settings, which processes of release 0.1 read from here, and never
    # read: a reference of another region is refused. They go with the release after 0.2.
    auth_kind = models.TextField(default="none")
    token_ref = models.TextField(null=True)
    cert_ref = models.TextField(null=True)
    key_ref = models.TextField(null=True)
    ca_ref = models.TextField(null=True)
    allow_insecure = models.BooleanField(default=False)
    source = models.TextField(choices=Source.choices, default=Source.DYNAMIC)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_region"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="ojs_federation_weight", condition=Q(weight__gte=0)),
            models.CheckConstraint(
                name="ojs_federation_auth_kind",
                condition=Q(auth_kind__in=["none", "bearer", "mtls"]),
            ),
            models.CheckConstraint(
                name="ojs_federation_source", condition=Q(source__in=Source.values)
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class RegionHealth(models.Model):
    """What this server's router knows of a region: status of the last probe, and the breaker.

    The columns of the breaker are those of `domain/breaker.py`; all routers of this server share
    them, and no other server's.
    """

    region = models.OneToOneField(Region, models.CASCADE, primary_key=True, related_name="health")
    status = models.TextField(choices=Status.choices, default=Status.UNKNOWN)
    status_at = models.DateTimeField(db_default=Now())  # since when it is that
    ewma_ms = models.FloatField(null=True)  # null: never answered
    checked_at = models.DateTimeField(null=True)  # null: never probed
    breaker = models.TextField(default="closed")
    failures = models.IntegerField(default=0)  # in a row
    opened_at = models.DateTimeField(null=True)
    # since when the breaker is not closed: it is opened anew after each probe; null: it is closed
    tripped_at = models.DateTimeField(null=True)
    probe_until = models.DateTimeField(null=True)  # half-open: one call is in flight till then
    is_forced = models.BooleanField(default=False)  # an operator opened it
    last_error = models.TextField(null=True)  # of the last probe or call that failed
    # its clock minus ours in whole seconds, as probes were answered; null: it does not say
    skew_s = models.IntegerField(null=True)
    skewed_at = models.DateTimeField(null=True)  # since when that is too much; null: it is not

    class Meta:
        db_table = "ojs_federation_health"
        verbose_name_plural = "region health"
        constraints = [
            models.CheckConstraint(
                name="ojs_federation_status", condition=Q(status__in=Status.values)
            ),
            models.CheckConstraint(
                name="ojs_federation_breaker",
                condition=Q(breaker__in=["closed", "open", "half-open"]),
            ),
            models.CheckConstraint(
                name="ojs_federation_opened",
                condition=~Q(breaker="open") | Q(opened_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.region_id} {self.status} {self.breaker}"


class RegionLoad(models.Model):
    """How many jobs a region had when it was last asked; regions that never said have no row."""

    region = models.OneToOneField(Region, models.CASCADE, primary_key=True, related_name="load")
    available = models.BigIntegerField()
    active = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_federation_load"
        verbose_name_plural = "region load"

    def __str__(self) -> str:
        return f"{self.region_id} {self.available}+{self.active}"


class RegionMinute(models.Model):
    """What probes of a region said in one minute: a ring of an hour for each region.

    A row is used again an hour later, so there are never more than sixty of a region.
    """

    pk = models.CompositePrimaryKey("region_id", "slot")
    region = models.ForeignKey(Region, models.CASCADE, db_index=False)
    slot = models.SmallIntegerField()  # the minute of the hour
    at = models.DateTimeField()  # the minute
    answers = models.IntegerField()  # probes that succeeded
    total_ms = models.FloatField()  # round trips of these together
    failures = models.IntegerField()

    class Meta:
        db_table = "ojs_federation_minute"
        constraints = [
            models.CheckConstraint(
                name="ojs_federation_minute_slot", condition=Q(slot__gte=0, slot__lt=60)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.region_id} {self.at}"


class Placement(models.Model):
    """Where the router sent a job last whose client knows the federation id: a retry goes there.

    Whose it is, is what the caller's key or header says; empty: anybody's.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id")
    tenant = models.TextField()
    federation_id = models.UUIDField()
    region = models.TextField()  # named, not referred to: rows outlive it; empty: nobody is asked
    in_doubt = ArrayField(models.TextField(), default=list)  # others that may have the job
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_placement"
        indexes = [
            # forget: those behind the window
            models.Index(fields=["at"], name="ojs_federation_placement_at"),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} to {self.region}"


class Doubt(models.Model):
    """A region that may have a job, too, which was stored here since its answer was lost.

    Noted with the job, removed when the region has said what became of it there. The region is
    named, not referred to: it may be registered again.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id", "region")
    tenant = NameField()
    federation_id = models.UUIDField()
    region = NameField()
    job_id = models.UUIDField()  # the one that is here
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_doubt"
        indexes = [
            # who is to be asked, and for what
            models.Index(fields=["region", "created_at"], name="ojs_federation_doubt_region"),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} in {self.region}"


class FederationKey(models.Model):
    """The job that a federation id became here. Spec: contract 23.6.

    The unique key is what makes a retry race-free: who stores a job notes it in that transaction.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id")
    tenant = NameField()
    federation_id = models.UUIDField()
    job_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_key"
        indexes = [
            # forget_keys: those that are older than the window
            models.Index(fields=["created_at"], name="ojs_federation_key_age"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.federation_id}"


class FederatedJob(models.Model):
    """A job of some region as of its latest revision that is known here: never a job to claim.

    Jobs of this region are here, too, as they are told to the others: `revision` orders them, and a
    peer's cursor is the last one that it has. Members are those of the wire (domain/replica.py).
    `winner`, `skewed`, `received_at`, `adopted_as` and `settled_at` are this region's own. Regions
    are named, not referred to: rows outlive them. Spec: contract 23.6.
    """

    pk = models.CompositePrimaryKey("origin_region", "job_id")
    origin_region = NameField()
    job_id = models.UUIDField()
    tenant = NameField()
    federation_id = models.UUIDField()
    type = NameField()
    queue = NameField()
    state = models.TextField()  # as on the wire
    priority = models.SmallIntegerField()
    attempt = models.IntegerField()
    created_at = models.DateTimeField()
    enqueued_at = models.DateTimeField()  # whole milliseconds: what the last writer wins by
    completed_at = models.DateTimeField(null=True)  # the end, in whatever state
    revision = models.BigIntegerField()  # microseconds since 1970, or the next number
    bound_to = models.TextField(null=True)  # why it must not be adopted: replica.BOUNDS
    adopts_region = NameField(null=True)  # it was enqueued in place of that job; null: of none
    adopts_job = models.UUIDField(null=True)
    payload = models.JSONField(null=True)  # args, meta and envelope; null: not told
    replicated_from = NameField(null=True)  # null: a job of this region
    winner = models.BooleanField()
    skewed = models.BooleanField(default=False, db_default=False)
    received_at = models.DateTimeField(db_default=Now())
    adopted_as = models.UUIDField(null=True)  # the job here that took its place
    settled_at = models.DateTimeField(
        null=True
    )  # an adoption elsewhere: what it replaces was ended

    class Meta:
        db_table = "ojs_federation_job"
        constraints = [
            models.CheckConstraint(
                name="ojs_federation_job_adopts",
                condition=Q(adopts_region__isnull=True, adopts_job__isnull=True)
                | Q(adopts_region__isnull=False, adopts_job__isnull=False),
            ),
        ]
        indexes = [
            # merge, copies: all of one federation id
            models.Index(fields=["tenant", "federation_id"], name="ojs_federation_job_copies"),
            # outgoing: what a peer does not have yet
            models.Index(fields=["origin_region", "revision"], name="ojs_federation_job_sent"),
            # adoptable: what waits in a region
            models.Index(
                fields=["origin_region", "job_id"],
                name="ojs_federation_job_waits",
                condition=Q(
                    state__in=["available", "scheduled", "retryable", "pending"],
                    adopted_as__isnull=True,
                ),
            ),
            # unsettled: what other regions adopted
            models.Index(
                fields=["received_at"],
                name="ojs_federation_job_adopted",
                condition=Q(
                    adopts_region__isnull=False,
                    replicated_from__isnull=False,
                    settled_at__isnull=True,
                ),
            ),
            # lists of all regions, newest first
            models.Index(
                fields=["enqueued_at", "origin_region", "job_id"], name="ojs_federation_job_list"
            ),
            # forget_copies: those that ended long ago
            models.Index(
                fields=["completed_at"],
                name="ojs_federation_job_ended",
                condition=Q(completed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} of {self.origin_region}"


class ReplicationPosition(models.Model):
    """How far the event record was read for replication, and the last revision. One row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = models.BigIntegerField(default=0)  # of the last event that was read
    seq = models.BigIntegerField(default=0)
    revision = models.BigIntegerField(default=0)

    class Meta:
        db_table = "ojs_federation_position"
        constraints = [
            models.CheckConstraint(name="ojs_federation_one_position", condition=Q(id=1))
        ]

    def __str__(self) -> str:
        return f"{self.stamp} {self.seq}"


class ReplicationPeer(models.Model):
    """What a peer was told, and what it told us; a row each, made on first use."""

    region = NameField(primary_key=True)
    cursor = models.BigIntegerField(default=0, db_default=0)  # the last revision that it has
    sent = models.BigIntegerField(default=0, db_default=0)  # revisions that it took
    refused = models.BigIntegerField(default=0, db_default=0)  # revisions that it never will
    sent_at = models.DateTimeField(null=True)  # null: never
    last_error = models.TextField(null=True)  # null: the last attempt succeeded
    failures = models.IntegerField(default=0, db_default=0)  # in a row
    received = models.BigIntegerField(default=0, db_default=0)  # newer revisions from it
    received_at = models.DateTimeField(null=True)
    conflicts = models.BigIntegerField(default=0, db_default=0)  # found with what it told
    lag_ms = models.BigIntegerField(null=True)  # when it was last looked at; null: not yet
    late_since = models.DateTimeField(null=True)  # that is beyond max_lag_seconds; null: it is not

    class Meta:
        db_table = "ojs_federation_peer"

    def __str__(self) -> str:
        return str(self.region)
