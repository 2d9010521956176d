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
    """A version of a type that jobs came with, or were sent to by rules: their lanes' `route`.

    A row without either is of jobs without a version of a type that is told apart: see Apart.

    Rows are added, never changed or removed: processes remember them. Each new one raises the
    version of the terms, so that every claim knows all routes that there are.
    """

    id = models.AutoField(primary_key=True)  # from 1: route 0 is that of jobs without a version
    type = NameField()
    # the job's own version; null: it has none
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
    """Jobs that no live worker accepts, one row per version of a type for as long as that lasts.

    The body of the loop `held_versions` keeps it.
    """

    route = models.IntegerField(primary_key=True)
    since = models.DateTimeField()
    jobs = models.IntegerField()  # that wait, as of the last look; counted up to a bound
    told_at = models.DateTimeField(null=True)  # when the event was stored; null: not yet

    class Meta:
        db_table = "ojs_version_held"

    def __str__(self) -> str:
        return f"{self.route}: {self.jobs}"


class Schema(models.Model):
    """What the arguments of a version of a type look like. Spec: contract 30.1.

    Every change raises the version of the terms, by which processes notice it. Versions that differ
    in how they are written alone are one.
    """

    type = NameField()
    version = models.TextField()  # as it was first written
    major = models.IntegerField()
    minor = models.IntegerField()
    patch = models.IntegerField()
    uri = NameField(null=True)  # its name for clients that ask by URI
    document = models.TextField()  # JSON as sent; domain/schema.py reads it
    digest = models.TextField()  # of the document, whatever its order of members
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

    Every change raises the version of the terms, by which processes notice it, and takes it as the
    revision, so that none comes twice.
    """

    type = NameField(primary_key=True)
    revision = models.BigIntegerField()
    rules = models.JSONField()  # version as written, weight; those in force
    mode = models.TextField(choices=_choices(RoutingMode))
    on_no_worker = models.TextField(choices=_choices(OnNoWorker))
    fallback_ms = models.BigIntegerField()
    guard = models.JSONField(
        null=True
    )  # domain/evidence.py; null: nothing is rolled back by itself
    plan = models.JSONField(null=True)  # domain/canary_request.py; null: the weights stay
    step = models.SmallIntegerField(null=True)  # of the plan, from 0; null with it
    step_at = models.DateTimeField(null=True)  # when that began
    is_paused = models.BooleanField(default=False, db_default=False)  # no step follows by itself
    judged_from = models.DateTimeField()  # outcomes count from then on: the last change by hand
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
    """One version that was taken back."""

    type = NameField()
    at = models.DateTimeField(db_default=Now())
    from_version = models.TextField()
    to_version = models.TextField()
    by_rate = models.BooleanField()  # by itself; else somebody did
    samples = models.BigIntegerField(null=True)  # in the window; null: by hand
    failed = models.BigIntegerField(null=True)

    class Meta:
        db_table = "ojs_version_rollback"
        indexes = [models.Index(fields=["type", "-at"], name="ojs_version_rollback_of")]

    def __str__(self) -> str:
        return f"{self.type}: {self.from_version} to {self.to_version}"


class Redrawing(models.Model):
    """Waiting jobs of a type that are being drawn anew; `stage` and after tell where that stands.

    The body of the loop `redraw` keeps it; the row goes with its last turn.
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
    """A type whose jobs without a version have a route of their own, since somebody refuses them.

    Rows are added and never removed. Those that wait in route 0 are moved by `services/parting.py`;
    until that `is_done` no worker that refuses them takes anything from there.
    """

    type = NameField(primary_key=True)
    route = models.IntegerField()
    is_done = models.BooleanField(default=False, db_default=False)
    turn = models.BigIntegerField(default=0, db_default=0)  # it began anew so often
    waits_for = models.JSONField(null=True)  # transactions; null: they were not looked for yet
    is_later = models.BooleanField(default=False, db_default=False)  # it is at jobs of later
    has_missed = models.BooleanField(default=False, db_default=False)  # jobs that others held
    after_lane = models.BigIntegerField(default=0, db_default=0)
    after_seq = models.BigIntegerField(default=0, db_default=0)
    after_id = models.UUIDField(null=True)
    starts_at = models.DateTimeField(db_default=Now())  # not before

    class Meta:
        db_table = "ojs_version_apart"

    def __str__(self) -> str:
        return f"{self.type}: {self.route}"


class Outcome(models.Model):
    """How attempts of a route ended in a few seconds, read from the record of events."""

    pk = models.CompositePrimaryKey("route", "at")
    route = models.IntegerField()
    at = models.DateTimeField()  # when these seconds began
    acked = models.IntegerField()
    failed = models.IntegerField()

    class Meta:
        db_table = "ojs_version_outcome"
        indexes = [models.Index(fields=["at"], name="ojs_version_outcome_at")]  # to forget old ones

    def __str__(self) -> str:
        return f"{self.route} {self.acked} {self.failed}"


class Run(models.Model):
    """How long acknowledged attempts of a route ran that ended in a minute. For types with rules.

    By bucket as in jobs/domain/latency.py.
    """

    pk = models.CompositePrimaryKey("route", "at", "bucket")
    route = models.IntegerField()
    at = models.DateTimeField()  # when the minute began
    bucket = models.SmallIntegerField()
    jobs = models.IntegerField()

    class Meta:
        db_table = "ojs_version_run"
        indexes = [models.Index(fields=["at"], name="ojs_version_run_at")]  # to forget old ones

    def __str__(self) -> str:
        return f"{self.route} {self.bucket} {self.jobs}"


class Touched(models.Model):
    """A job that a version which is tried out has had an attempt of; the last ones of a route."""

    pk = models.CompositePrimaryKey("route", "job_id")
    route = models.IntegerField()
    job_id = models.UUIDField()  # the job may be gone
    at = models.DateTimeField()  # when the latest such attempt ended
    has_failed = models.BooleanField()  # that attempt

    class Meta:
        db_table = "ojs_version_touched"
        indexes = [
            # touched: the latest ones
            models.Index(
                fields=["route", "has_failed", "-at", "-job_id"], name="ojs_version_touched_last"
            ),
            models.Index(fields=["at"], name="ojs_version_touched_at"),  # to forget old ones
        ]

    def __str__(self) -> str:
        return f"{self.route} {self.job_id}"


class Started(models.Model):
    """How many attempts of a route were ever handed out."""

    route = models.IntegerField(primary_key=True)
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_version_started"

    def __str__(self) -> str:
        return f"{self.route} {self.jobs}"


class Reader(models.Model):
    """Up to where outcomes were read from the record of events. At most one row."""

    id = models.SmallIntegerField(primary_key=True)
    stamp = Xid8Field()

    class Meta:
        db_table = "ojs_version_reader"
        constraints = [models.CheckConstraint(name="ojs_version_reader_one", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.stamp)


class Trial(models.Model):
    """What speaks against the newest version of a type, as of the last look."""

    type = NameField(primary_key=True)
    looks = models.IntegerField()
    log_bet = models.FloatField()  # domain/evidence.py

    class Meta:
        db_table = "ojs_version_trial"

    def __str__(self) -> str:
        return f"{self.type} {self.log_bet}"


class Fallback(models.Model):
    """A route whose jobs other workers get in a queue, as nobody accepts what was drawn."""

    pk = models.CompositePrimaryKey("route", "queue")
    route = models.IntegerField()
    queue = NameField()
    since = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ojs_version_fallback"

    def __str__(self) -> str:
        return f"{self.route} {self.queue}"
