"""Tables of job versions. Verbs live in `services/`."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField, Xid8Field
from versioning.domain.canary import Mode as RoutingMode
from versioning.domain.canary import OnNoWorker
from versioning.domain.schema import Mode, Target


def _choices(names: object) -> list[tuple[str, str]]:
    return [(str(name), str(name)) for name in names]  # type: ignore[attr-defined]  # iterable


class Route(models.Model):
    """A version key: a type with the version of its jobs, the drawn version, or both.

    A row without any version belongs to the unversioned jobs of a split type: see Apart. Rows are
    added, never changed or removed, since processes cache their ids. Each new row raises the
    configuration version, so every claim sees all version keys.
    """

    id = models.AutoField(primary_key=True)  # from 1; 0 is the version key of unversioned jobs
    type = NameField()
    # the job's own version; null: none
    major = models.IntegerField(null=True)
    minor = models.IntegerField(null=True)
    # the version that the routing rules drew; null: none
    to_major = models.IntegerField(null=True)
    to_minor = models.IntegerField(null=True)

    class Meta:
        db_table = "ojs_version_route"
        constraints = [
            models.UniqueConstraint(
                fields=["type", "major", "minor", "to_major", "to_minor"],
                name="ojs_version_route_key",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="ojs_version_route_of",
                condition=Q(major__isnull=False, minor__isnull=False)
                | Q(major__isnull=True, minor__isnull=True),
            ),
            models.CheckConstraint(
                name="ojs_version_route_to",
                condition=Q(to_major__isnull=False, to_minor__isnull=False)
                | Q(to_major__isnull=True, to_minor__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type}@{self.major}.{self.minor} > {self.to_major}.{self.to_minor}"


class Held(models.Model):
    """Jobs that no live worker accepts, one row per version key while this lasts.

    The loop `held_versions` maintains it.
    """

    route = models.IntegerField(primary_key=True)
    since = models.DateTimeField()
    jobs = models.IntegerField()  # waiting jobs at the last look; counted up to a bound
    told_at = models.DateTimeField(null=True)  # time of the event; null: none yet

    class Meta:
        db_table = "ojs_version_held"

    def __str__(self) -> str:
        return f"{self.route}: {self.jobs}"


class Schema(models.Model):
    """The schema of the arguments of one version of a type. Spec: contract 30.1.

    Every change raises the configuration version, so all processes notice it. Spellings of the same
    version share one row.
    """

    type = NameField()
    version = models.TextField()  # as first written
    major = models.IntegerField()
    minor = models.IntegerField()
    patch = models.IntegerField()
    uri = NameField(null=True)  # its name for clients that use URIs
    document = models.TextField()  # JSON as sent; domain/schema.py reads it
    digest = models.TextField()  # of the document, independent of the order of members
    target = models.TextField(choices=_choices(Target))
    mode = models.TextField(choices=_choices(Mode))
    compatible_with = models.JSONField(default=list)  # versions, as written
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_schema"
        constraints = [
            models.UniqueConstraint(
                fields=["type", "major", "minor", "patch"], name="ojs_schema_key"
            ),
            models.UniqueConstraint(fields=["uri"], name="ojs_schema_uri"),
            models.CheckConstraint(
                name="ojs_schema_mode", condition=Q(mode__in=[str(one) for one in Mode])
            ),
            models.CheckConstraint(
                name="ojs_schema_target", condition=Q(target__in=[str(one) for one in Target])
            ),
        ]
        indexes = [  # the latest of each type, types by name
            models.Index(fields=["type", "-major", "-minor", "-patch"], name="ojs_schema_latest")
        ]

    def __str__(self) -> str:
        return f"{self.type}@{self.version}"


class Routing(models.Model):
    """The routing rules of a type. Spec: contract 22.4.

    Every change raises the configuration version, so all processes notice it. The new version
    becomes the revision, so no revision occurs twice.
    """

    type = NameField(primary_key=True)
    revision = models.BigIntegerField()
    rules = models.JSONField()  # version as written, weight; the effective rules
    mode = models.TextField(choices=_choices(RoutingMode))
    on_no_worker = models.TextField(choices=_choices(OnNoWorker))
    fallback_ms = models.BigIntegerField()
    guard = models.JSONField(
        null=True
    )  # domain/evidence.py; null: the server rolls no version back by itself
    plan = models.JSONField(null=True)  # domain/canary_request.py; null: fixed weights
    step = models.SmallIntegerField(null=True)  # of the plan, from 0; null without a plan
    step_at = models.DateTimeField(null=True)  # start of the step
    is_paused = models.BooleanField(default=False, db_default=False)  # no automatic steps
    judged_from = models.DateTimeField()  # outcomes count from then on: the last manual change
    rolled_back_at = models.DateTimeField(null=True)  # null: not since the last PUT
    rolled_back_from = models.TextField(null=True)  # the version
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_version_routing"
        constraints = [
            models.CheckConstraint(
                name="ojs_version_routing_mode",
                condition=Q(mode__in=[str(one) for one in RoutingMode]),
            ),
            models.CheckConstraint(
                name="ojs_version_routing_hold",
                condition=Q(on_no_worker__in=[str(one) for one in OnNoWorker]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type}: {self.rules}"


class Rollback(models.Model):
    """One rollback of a version."""

    type = NameField()
    at = models.DateTimeField(db_default=Now())
    from_version = models.TextField()
    to_version = models.TextField()
    by_rate = models.BooleanField()  # automatic; else manual
    samples = models.BigIntegerField(null=True)  # in the window; null: manual
    failed = models.BigIntegerField(null=True)

    class Meta:
        db_table = "ojs_version_rollback"
        indexes = [models.Index(fields=["type", "-at"], name="ojs_version_rollback_of")]

    def __str__(self) -> str:
        return f"{self.type}: {self.from_version} to {self.to_version}"


class Redrawing(models.Model):
    """The redrawing of a type's waiting jobs; `stage` and the members below are its progress.

    The loop `redraw` maintains it; the row is deleted after its last turn.
    """

    type = NameField(primary_key=True)
    revision = models.BigIntegerField()
    first_stage = models.SmallIntegerField()  # services/redraw.py; where each turn begins
    stage = models.SmallIntegerField()
    turn = models.SmallIntegerField(default=0, db_default=0)
    after_lane = models.BigIntegerField(default=0, db_default=0)
    after_seq = models.BigIntegerField(default=0, db_default=0)
    after_id = models.UUIDField(null=True)
    starts_at = models.DateTimeField(db_default=Now())  # not before

    class Meta:
        db_table = "ojs_version_redrawing"

    def __str__(self) -> str:
        return f"{self.type}: {self.stage}"


class Apart(models.Model):
    """A split type: its unversioned jobs have a version key, since a worker refuses them.

    Rows are added and never removed. `services/parting.py` moves the jobs that wait under version
    key 0. Until that `is_done`, no worker that refuses them takes jobs of version key 0.
    """

    type = NameField(primary_key=True)
    route = models.IntegerField()
    is_done = models.BooleanField(default=False, db_default=False)
    turn = models.BigIntegerField(default=0, db_default=0)  # number of restarts
    waits_for = models.JSONField(null=True)  # transactions; null: not searched yet
    is_later = models.BooleanField(default=False, db_default=False)  # it is at `ojs_later`
    has_missed = models.BooleanField(default=False, db_default=False)  # jobs whose rows were locked
    after_lane = models.BigIntegerField(default=0, db_default=0)
    after_seq = models.BigIntegerField(default=0, db_default=0)
    after_id = models.UUIDField(null=True)
    starts_at = models.DateTimeField(db_default=Now())  # not before

    class Meta:
        db_table = "ojs_version_apart"

    def __str__(self) -> str:
        return f"{self.type}: {self.route}"


class Outcome(models.Model):
    """Ended attempts of a version key in a slot of seconds, read from the event record."""

    pk = models.CompositePrimaryKey("route", "at")
    route = models.IntegerField()
    at = models.DateTimeField()  # start of the slot
    acked = models.IntegerField()
    failed = models.IntegerField()

    class Meta:
        db_table = "ojs_version_outcome"
        indexes = [models.Index(fields=["at"], name="ojs_version_outcome_at")]  # to delete old rows

    def __str__(self) -> str:
        return f"{self.route} {self.acked} {self.failed}"


class Run(models.Model):
    """Run times of acknowledged attempts of a version key that ended in a minute.

    Only for types with rules. Buckets as in jobs/domain/record/latency.py.
    """

    pk = models.CompositePrimaryKey("route", "at", "bucket")
    route = models.IntegerField()
    at = models.DateTimeField()  # start of the minute
    bucket = models.SmallIntegerField()
    jobs = models.IntegerField()

    class Meta:
        db_table = "ojs_version_run"
        indexes = [models.Index(fields=["at"], name="ojs_version_run_at")]  # to delete old rows

    def __str__(self) -> str:
        return f"{self.route} {self.bucket} {self.jobs}"


class Touched(models.Model):
    """A job of which a canary had an attempt; the last jobs of each version key."""

    pk = models.CompositePrimaryKey("route", "job_id")
    route = models.IntegerField()
    job_id = models.UUIDField()  # the job may be deleted
    at = models.DateTimeField()  # end of the latest such attempt
    has_failed = models.BooleanField()  # that attempt

    class Meta:
        db_table = "ojs_version_touched"
        indexes = [
            # touched: the latest jobs
            models.Index(
                fields=["route", "has_failed", "-at", "-job_id"], name="ojs_version_touched_last"
            ),
            models.Index(fields=["at"], name="ojs_version_touched_at"),  # to delete old rows
        ]

    def __str__(self) -> str:
        return f"{self.route} {self.job_id}"


class Started(models.Model):
    """The number of attempts of a version key that were ever handed out."""

    route = models.IntegerField(primary_key=True)
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_version_started"

    def __str__(self) -> str:
        return f"{self.route} {self.jobs}"


class Reader(models.Model):
    """The position up to which outcomes were read from the event record. At most one row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()

    class Meta:
        db_table = "ojs_version_reader"
        constraints = [models.CheckConstraint(name="ojs_version_reader_one", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.stamp)


class Trial(models.Model):
    """The evidence against the newest version of a type, as of the last look."""

    type = NameField(primary_key=True)
    looks = models.IntegerField()
    log_bet = models.FloatField()  # domain/evidence.py

    class Meta:
        db_table = "ojs_version_trial"

    def __str__(self) -> str:
        return f"{self.type} {self.log_bet}"


class Fallback(models.Model):
    """A version key in fallback: in a queue, workers of the job's own version get its jobs.

    It exists while no worker accepts the drawn version.
    """

    pk = models.CompositePrimaryKey("route", "queue")
    route = models.IntegerField()
    queue = NameField()
    since = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_version_fallback"

    def __str__(self) -> str:
        return f"{self.route} {self.queue}"
