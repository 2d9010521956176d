"""Tables of job versions. Verbs live in `services/`."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import NameField
from versioning.domain.schema import Mode, Target


def _choices(names: object) -> list[tuple[str, str]]:
    return [(str(name), str(name)) for name in names]  # type: ignore[attr-defined]  # iterable


class Route(models.Model):
    """A version of a type that jobs came with: the `route` of their lanes.

    Rows are added, never changed or removed: processes remember them. Each new one raises the
    version of the terms, so that every claim knows all routes that there are.
    """

    id = models.AutoField(primary_key=True)  # from 1: route 0 is that of jobs without a version
    type = NameField()
    major = models.IntegerField()
    minor = models.IntegerField()

    class Meta:
        db_table = "ojs_version_route"
        constraints = [
            models.UniqueConstraint(fields=["type", "major", "minor"], name="ojs_version_route_key")
        ]

    def __str__(self) -> str:
        return f"{self.type}@{self.major}.{self.minor}"


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
    """What the arguments of a version of a type look like. Spec: contract 30 §1.

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
