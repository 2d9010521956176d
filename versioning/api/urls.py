"""Routes of the app."""

from django.urls import path

from versioning.api.routing import (
    RoutingCollection,
    RoutingDetail,
    RoutingPause,
    RoutingPromotion,
    RoutingResumption,
    RoutingRollback,
)
from versioning.api.touched import TouchedJobs
from versioning.api.versions import TypeVersionsView

ROUTING = "ojs/v1/admin/routing"
ONE = f"{ROUTING}/<str:type>"

urlpatterns = [
    path("ojs/v1/admin/versions/<str:type>", TypeVersionsView.as_view(), name="ojs-versions"),
    path(
        "ojs/v1/admin/versions/<str:type>/touched", TouchedJobs.as_view(), name="ojs-touched-jobs"
    ),
    path(ROUTING, RoutingCollection.as_view(), name="ojs-routings"),
    path(ONE, RoutingDetail.as_view(), name="ojs-routing"),
    path(f"{ONE}/promote", RoutingPromotion.as_view(), name="ojs-routing-promote"),
    path(f"{ONE}/pause", RoutingPause.as_view(), name="ojs-routing-pause"),
    path(f"{ONE}/resume", RoutingResumption.as_view(), name="ojs-routing-resume"),
    path(f"{ONE}/rollback", RoutingRollback.as_view(), name="ojs-routing-rollback"),
]
