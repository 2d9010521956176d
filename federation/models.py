"""Tables of the federation. The logic is in `services/`."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField


class Source(models.TextChoices):
    """The origin of a region."""

    STATIC = "static"  # settings: cannot be deleted; a change of the settings changes it
    DYNAMIC = "dynamic"  # an operator


class Status(models.TextChoices):
    """The result of the last probe of a region. Spec: contract 23.4."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class FederationConfig(models.Model):
    """The configuration of the federation from operators and settings. One row.

    Each change of the registry locks this row, so that the rules over all regions hold at each
    commit.
    """

    id = models.SmallIntegerField(primary_key=True)
    said = models.JSONField(default=dict)  # members as in PUT; absent: of the settings, else
    # the regions of the settings when they were last applied
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

    A reader of this table learns no secret: a token is encrypted. For a region of the settings, the
    settings have the URL and the credentials; the stored columns are for older processes only.
    """

    id = models.TextField(primary_key=True)  # pattern checked in domain/region.py
    url = models.TextField()
    weight = models.IntegerField(default=1)  # 0: neither overflow nor failover chooses it
    tags = ArrayField(models.TextField(), default=list)
    is_hub = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    drain = models.BooleanField(default=False)  # gets no new jobs
    max_queue_depth = models.IntegerField(null=True)  # null: never full
    sealed_token = models.BinaryField(
        null=True
    )  # encrypted: jobs/domain/outbound/vault.py; null: no token
    # Processes of release 0.1 read these columns of regions of the settings. This release writes
    # and never reads them: a reference of another region is refused. They go with the release after
    # 0.2.
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
    """The health of a region for this server's router: status of the last probe, and breaker.

    The columns of the breaker are the members in `domain/breaker.py`. All routers of this server
    share them, and no other server's router.
    """

    region = models.OneToOneField(Region, models.CASCADE, primary_key=True, related_name="health")
    status = models.TextField(choices=Status.choices, default=Status.UNKNOWN)
    status_at = models.DateTimeField(db_default=Now())  # time of the last change of the status
    ewma_ms = models.FloatField(null=True)  # null: it never answered
    checked_at = models.DateTimeField(null=True)  # null: never probed
    breaker = models.TextField(default="closed")
    failures = models.IntegerField(default=0)  # in a row
    opened_at = models.DateTimeField(null=True)
    # end of the last closed state; each failed probe opens the breaker again; null: it is closed
    tripped_at = models.DateTimeField(null=True)
    probe_until = models.DateTimeField(null=True)  # half-open: one call is in flight until then
    is_forced = models.BooleanField(default=False)  # an operator opened it
    last_error = models.TextField(null=True)  # of the last failed probe or call
    # its clock minus ours in whole seconds at the last probe; null: its answer has no time
    skew_s = models.IntegerField(null=True)
    skewed_at = models.DateTimeField(null=True)  # since when the skew is too large; null: it is not

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
    """The number of jobs of a region at the last request; no row: it never answered."""

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
    """The probes of a region in one minute: a ring of an hour for each region.

    A row is used again an hour later, so a region has at most sixty rows.
    """

    pk = models.CompositePrimaryKey("region_id", "slot")
    region = models.ForeignKey(Region, models.CASCADE, db_index=False)
    slot = models.SmallIntegerField()  # the minute of the hour
    at = models.DateTimeField()  # the minute
    answers = models.IntegerField()  # probes that succeeded
    total_ms = models.FloatField()  # sum of their round trips
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
    """The last region of a federation id that the client chose: a retry goes there.

    `tenant` is the tenant of the caller's key or header; empty: any tenant.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id")
    tenant = models.TextField()
    federation_id = models.UUIDField()
    region = models.TextField()  # no foreign key: rows outlive it; empty: no request
    in_doubt = ArrayField(models.TextField(), default=list)  # other regions that may have the job
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_placement"
        indexes = [
            # forget: rows older than the window
            models.Index(fields=["at"], name="ojs_federation_placement_at"),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} to {self.region}"


class Doubt(models.Model):
    """A region that may have a job that was stored here after its answer was lost.

    The row is stored with the job, and removed when the region has reported the outcome. The region
    is no foreign key: it may be registered again.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id", "region")
    tenant = NameField()
    federation_id = models.UUIDField()
    region = NameField()
    job_id = models.UUIDField()  # the job in this region
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_doubt"
        indexes = [
            # the next region to ask, and its jobs
            models.Index(fields=["region", "created_at"], name="ojs_federation_doubt_region"),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} in {self.region}"


class FederationKey(models.Model):
    """The job of a federation id in this region. Spec: contract 23.6.

    The unique key makes a retry race-free: the transaction that stores a job inserts its row.
    """

    pk = models.CompositePrimaryKey("tenant", "federation_id")
    tenant = NameField()
    federation_id = models.UUIDField()
    job_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_federation_key"
        indexes = [
            # forget_keys: rows older than the window
            models.Index(fields=["created_at"], name="ojs_federation_key_age"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.federation_id}"


class FederatedJob(models.Model):
    """The latest known revision of a job of any region: never a job to claim.

    Jobs of this region have rows as well, as other regions receive them: `revision` orders them,
    and the cursor of a peer is the last revision that it has. Members have the names of
    domain/replica.py. `winner`, `skewed`, `received_at`, `adopted_as` and `settled_at` belong to
    this region. Regions are no foreign keys: rows outlive them. Spec: contract 23.6.
    """

    pk = models.CompositePrimaryKey("origin_region", "job_id")
    origin_region = NameField()
    job_id = models.UUIDField()
    tenant = NameField()
    federation_id = models.UUIDField()
    type = NameField()
    queue = NameField()
    state = models.TextField()  # as in JSON
    priority = models.SmallIntegerField()
    attempt = models.IntegerField()
    created_at = models.DateTimeField()
    enqueued_at = models.DateTimeField()  # whole milliseconds; the last writer wins by it
    completed_at = models.DateTimeField(null=True)  # the end, in any final state
    revision = models.BigIntegerField()  # microseconds since 1970, or the next number
    bound_to = models.TextField(null=True)  # why it must not be adopted: replica.BOUNDS
    adopts_region = NameField(null=True)  # it replaces that job; null: none
    adopts_job = models.UUIDField(null=True)
    payload = models.JSONField(null=True)  # args, meta and envelope; null: not received
    replicated_from = NameField(null=True)  # null: a job of this region
    winner = models.BooleanField()
    skewed = models.BooleanField(default=False, db_default=False)
    received_at = models.DateTimeField(db_default=Now())
    adopted_as = models.UUIDField(null=True)  # the job here that replaced it
    settled_at = models.DateTimeField(
        null=True
    )  # an adoption elsewhere: the end of the job that it replaces

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
            # merge, copies: all rows of one federation id
            models.Index(fields=["tenant", "federation_id"], name="ojs_federation_job_copies"),
            # outgoing: revisions that a peer does not have yet
            models.Index(fields=["origin_region", "revision"], name="ojs_federation_job_sent"),
            # adoptable: waiting jobs of a region
            models.Index(
                fields=["origin_region", "job_id"],
                name="ojs_federation_job_waits",
                condition=Q(
                    state__in=["available", "scheduled", "retryable", "pending"],
                    adopted_as__isnull=True,
                ),
            ),
            # open_adoptions: jobs that other regions adopted
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
            # forget_copies: jobs that ended long ago
            models.Index(
                fields=["completed_at"],
                name="ojs_federation_job_ended",
                condition=Q(completed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.federation_id} of {self.origin_region}"


class ReplicationPosition(models.Model):
    """The position of replication in the event record, and the last revision. One row."""

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
    """The replication to and from a peer; one row each, inserted on first use."""

    region = NameField(primary_key=True)
    cursor = models.BigIntegerField(default=0, db_default=0)  # the last revision that it has
    sent = models.BigIntegerField(default=0, db_default=0)  # revisions that it took
    refused = models.BigIntegerField(default=0, db_default=0)  # revisions that it refused for good
    sent_at = models.DateTimeField(null=True)  # null: never
    last_error = models.TextField(null=True)  # null: the last attempt succeeded
    failures = models.IntegerField(default=0, db_default=0)  # in a row
    received = models.BigIntegerField(default=0, db_default=0)  # newer revisions from it
    received_at = models.DateTimeField(null=True)
    conflicts = models.BigIntegerField(default=0, db_default=0)  # found in its revisions
    lag_ms = models.BigIntegerField(null=True)  # at the last measurement; null: not yet
    late_since = models.DateTimeField(null=True)  # start of a lag over max_lag_seconds; null: none

    class Meta:
        db_table = "ojs_federation_peer"

    def __str__(self) -> str:
        return str(self.region)
