"""Routes of the app."""

from django.urls import URLPattern, path

from scheduling.api.cron import (
    CronCollection,
    CronDetail,
    CronHistory,
    CronPause,
    CronResume,
    CronTrigger,
    CronUpcoming,
)
from scheduling.api.pools import PoolCollection, PoolDetail, SchedulingConfiguration
from scheduling.api.stats import SchedulingStats

PARTS = (
    ("", CronCollection, "s"),
    ("/<str:name>", CronDetail, ""),
    ("/<str:name>/trigger", CronTrigger, "-trigger"),
    ("/<str:name>/pause", CronPause, "-pause"),
    ("/<str:name>/resume", CronResume, "-resume"),
    ("/<str:name>/history", CronHistory, "-history"),
    ("/<str:name>/upcoming", CronUpcoming, "-upcoming"),
)


def _cron(root: str, prefix: str) -> list[URLPattern]:
    return [path(f"{root}{part}", view.as_view(), name=prefix + tail) for part, view, tail in PARTS]


# Two names of the same resource: the CLI and the SDKs use the first, the admin UI the second.
# D-ADM-1
urlpatterns = [
    *_cron("ojs/v1/cron", "ojs-cron"),
    *_cron("ojs/v1/crons", "ojs-crons"),
    path("ojs/v1/admin/pools", PoolCollection.as_view(), name="ojs-pools"),
    path("ojs/v1/admin/pools/<str:name>", PoolDetail.as_view(), name="ojs-pool"),
    path(
        "ojs/v1/admin/scheduling/config",
        SchedulingConfiguration.as_view(),
        name="ojs-scheduling-config",
    ),
    path(
        "ojs/v1/admin/scheduling/stats",
        SchedulingStats.as_view(),
        name="ojs-scheduling-stats",
    ),
]
