"""Routes of the app; /v1/federation is an alias, as for all paths."""

from django.urls import path

from federation.api.readouts import Backends, Statistics
from federation.api.regions import (
    Configuration,
    RegionBreaker,
    RegionCollection,
    RegionDetail,
    RegionDrain,
    RegionProbe,
    RegionUndrain,
)
from federation.api.replication import (
    FederatedJobDetail,
    GiveUp,
    RegionAdoption,
    RegionForgetting,
    Replicate,
    ReplicationStatus,
)
from federation.api.router import FederationHealth, Regions, Route, RoutedBatch, RoutedJobs

ROOT = "ojs/v1/federation"
ADMIN = "ojs/v1/admin/federation"
ONE = f"{ADMIN}/regions/<str:region_id>"

urlpatterns = [
    path(f"{ROOT}/regions", Regions.as_view(), name="ojs-federation-regions"),
    path(f"{ROOT}/route", Route.as_view(), name="ojs-federation-route"),
    path(f"{ROOT}/health", FederationHealth.as_view(), name="ojs-federation-health"),
    path(f"{ROOT}/jobs", RoutedJobs.as_view(), name="ojs-federation-jobs"),
    path(f"{ROOT}/jobs/batch", RoutedBatch.as_view(), name="ojs-federation-jobs-batch"),
    path(
        f"{ROOT}/jobs/<str:federation_id>",
        FederatedJobDetail.as_view(),
        name="ojs-federation-job",
    ),
    path(f"{ROOT}/replicate", Replicate.as_view(), name="ojs-federation-replicate"),
    path(f"{ROOT}/give-up", GiveUp.as_view(), name="ojs-federation-give-up"),
    path("ojs/federation/backends", Backends.as_view(), name="ojs-federation-backends"),
    path("ojs/federation/stats", Statistics.as_view(), name="ojs-federation-stats"),
    path(f"{ADMIN}/replication", ReplicationStatus.as_view(), name="ojs-federation-replication"),
    path(f"{ADMIN}/regions", RegionCollection.as_view(), name="ojs-regions"),
    path(ONE, RegionDetail.as_view(), name="ojs-region"),
    path(f"{ONE}/probe", RegionProbe.as_view(), name="ojs-region-probe"),
    path(f"{ONE}/breaker", RegionBreaker.as_view(), name="ojs-region-breaker"),
    path(f"{ONE}/drain", RegionDrain.as_view(), name="ojs-region-drain"),
    path(f"{ONE}/adopt", RegionAdoption.as_view(), name="ojs-region-adopt"),
    path(f"{ONE}/forget", RegionForgetting.as_view(), name="ojs-region-forget"),
    path(f"{ONE}/undrain", RegionUndrain.as_view(), name="ojs-region-undrain"),
    path(f"{ADMIN}/config", Configuration.as_view(), name="ojs-federation-config"),
]
