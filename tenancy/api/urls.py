"""Routes of the app."""

from django.urls import path

from tenancy.api.tenants import (
    TenantCollection,
    TenantDetail,
    TenantJobs,
    TenantLimits,
    TenantResumption,
    TenantStats,
    TenantSuspension,
    TenantThrottle,
)

ROOT = "ojs/v1/admin/tenants"
ONE = f"{ROOT}/<str:tenant_id>"

urlpatterns = [
    path(ROOT, TenantCollection.as_view(), name="ojs-tenants"),
    path(ONE, TenantDetail.as_view(), name="ojs-tenant"),
    path(f"{ONE}/limits", TenantLimits.as_view(), name="ojs-tenant-limits"),
    path(f"{ONE}/stats", TenantStats.as_view(), name="ojs-tenant-stats"),
    path(f"{ONE}/jobs", TenantJobs.as_view(), name="ojs-tenant-jobs"),
    path(f"{ONE}/suspend", TenantSuspension.as_view(), name="ojs-tenant-suspend"),
    path(f"{ONE}/resume", TenantResumption.as_view(), name="ojs-tenant-resume"),
    path(f"{ONE}/throttle", TenantThrottle.as_view(), name="ojs-tenant-throttle"),
]
