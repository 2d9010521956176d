"""Pages of the console, under any prefix of the project.

Each path ends in a slash; the path without it redirects.
"""

from django.apps import apps
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, re_path

from console.actions import Act
from console.slash import WithSlash
from console.views.api_keys import ApiKeyRotate, ApiKeys
from console.views.audit import Audit
from console.views.dead_letter import DeadLetter
from console.views.events import Events
from console.views.job import JobDetail
from console.views.job_arguments import JobArguments
from console.views.job_edit import JobClone, JobRetry
from console.views.jobs import Jobs
from console.views.limits import Limits
from console.views.operations import OperationFile, OperationNew, OperationPage, Operations
from console.views.overview import Overview
from console.views.queues import QueueDetail, Queues
from console.views.system import System
from console.views.within import Within
from console.views.workers import WorkerDetail, Workers

app_name = "ojs_console"
urlpatterns = [
    path("", Overview.as_view(), name="overview"),
    path("jobs/", Jobs.as_view(), name="jobs"),
    path("jobs/<str:job_id>/", JobDetail.as_view(), name="job"),
    path("jobs/<str:job_id>/arguments/", JobArguments.as_view(), name="job_arguments"),
    path("jobs/<str:job_id>/retry/", JobRetry.as_view(), name="job_retry"),
    path("jobs/<str:job_id>/clone/", JobClone.as_view(), name="job_clone"),
    path("operations/", Operations.as_view(), name="operations"),
    path("operations/new/", OperationNew.as_view(), name="operation_new"),
    path("operations/<int:pk>/", OperationPage.as_view(), name="operation"),
    path("operations/<int:pk>/file/", OperationFile.as_view(), name="operation_file"),
    path("queues/", Queues.as_view(), name="queues"),
    path("queues/<path:name>/", QueueDetail.as_view(), name="queue"),
    path("dead-letter/", DeadLetter.as_view(), name="dead_letter"),
    path("events/", Events.as_view(), name="events"),
    path("rate-limits/", Limits.as_view(), name="limits"),
    path("workers/", Workers.as_view(), name="workers"),
    path("workers/<path:name>/", WorkerDetail.as_view(), name="worker"),
    path("audit/", Audit.as_view(), name="audit"),
    path("api-keys/", ApiKeys.as_view(), name="api_keys"),
    path("api-keys/rotate/", ApiKeyRotate.as_view(), name="api_key_rotate"),
    path("system/", System.as_view(), name="system"),
    path("actions/<str:verb>/", Act.as_view(), name="act"),
    path("within/", Within.as_view(), name="within"),
    path(
        "login/",
        LoginView.as_view(template_name="ojs/console/login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", LogoutView.as_view(next_page="ojs_console:login"), name="logout"),
]
if apps.is_installed("federation"):
    from console.views.region_operations import RegionAdopt, RegionForget
    from console.views.regions import RegionJobs, Regions

    urlpatterns += [
        path("regions/", Regions.as_view(), name="regions"),
        path("regions/jobs/", RegionJobs.as_view(), name="region_jobs"),
        path("regions/<str:region_id>/adopt/", RegionAdopt.as_view(), name="region_adopt"),
        path("regions/<str:region_id>/forget/", RegionForget.as_view(), name="region_forget"),
    ]
if apps.is_installed("scheduling"):
    from console.views.cron import CronDetail, CronEdit, Crons
    from console.views.pools import PoolDetail, PoolEdit, Pools
    from console.views.simulate import Simulate, Simulated

    urlpatterns += [
        path("simulate/", Simulate.as_view(), name="simulate"),
        path("simulate/<str:key>/", Simulated.as_view(), name="simulated"),
        path("cron/", Crons.as_view(), name="crons"),
        path("cron/new/", CronEdit.as_view(), name="cron_new"),
        path("cron/<int:pk>/", CronDetail.as_view(), name="cron"),
        path("cron/<int:pk>/edit/", CronEdit.as_view(), name="cron_edit"),
        path("pools/", Pools.as_view(), name="pools"),
        path("pools/<str:name>/", PoolDetail.as_view(), name="pool"),
        path("pools/<str:name>/edit/", PoolEdit.as_view(), name="pool_edit"),
        path("new-pool/", PoolEdit.as_view(), name="pool_new"),  # a pool may have any name
    ]
if apps.is_installed("tenancy"):
    from console.views.tenants import TenantDetail, TenantEdit, Tenants

    urlpatterns += [
        path("tenants/", Tenants.as_view(), name="tenants"),
        path("tenants/<str:tenant_id>/", TenantDetail.as_view(), name="tenant"),
        path("tenants/<str:tenant_id>/edit/", TenantEdit.as_view(), name="tenant_edit"),
        path("new-tenant/", TenantEdit.as_view(), name="tenant_new"),  # any word may be an id
    ]
if apps.is_installed("versioning"):
    from console.views.schemas import SchemaPage, Schemas
    from console.views.versions import (
        RulesEdit,
        VersionRemoval,
        Versions,
        VersionsOfType,
        VersionTouched,
    )

    urlpatterns += [
        path("versions/", Versions.as_view(), name="versions"),
        path("versions/<str:job_type>/", VersionsOfType.as_view(), name="versions_of_type"),
        path("versions/<str:job_type>/removal/", VersionRemoval.as_view(), name="version_removal"),
        path("versions/<str:job_type>/touched/", VersionTouched.as_view(), name="version_touched"),
        path("versions/<str:job_type>/rules/", RulesEdit.as_view(), name="rules_edit"),
        path("new-rules/", RulesEdit.as_view(), name="rules_new"),
        path("schemas/", Schemas.as_view(), name="schemas"),
        path("schemas/<str:job_type>/", SchemaPage.as_view(), name="schema"),
    ]
if apps.is_installed("webhooks"):  # pages of an app that a project may lack
    from console.views.webhooks import DeliveryPage, Webhooks

    urlpatterns += [
        path("webhooks/", Webhooks.as_view(), name="webhooks"),
        path("webhooks/deliveries/<str:delivery_id>/", DeliveryPage.as_view(), name="delivery"),
    ]
if apps.is_installed("workflows"):
    from console.views.workflows import WorkflowDetail, Workflows

    urlpatterns += [
        path("workflows/", Workflows.as_view(), name="workflows"),
        path("workflows/<str:workflow_id>/", WorkflowDetail.as_view(), name="workflow"),
    ]
urlpatterns += [re_path(r"^.*[^/]$", WithSlash.as_view())]
