"""Tables of job versions. Verbs live in `services/`."""

from django.db import models

from jobs.models import NameField


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
