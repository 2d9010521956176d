"""All routes of durable execution. Spec: contract 34."""

from django.urls import path

from durable.api.checkpoints import JobCheckpoint
from durable.api.signals import JobSignal, JobSignals, JobSuspension
from durable.api.steps import JobRetryFromStep

JOB = "ojs/v1/jobs/<str:job_id>"

urlpatterns = [
    path(f"{JOB}/checkpoint", JobCheckpoint.as_view(), name="ojs-job-checkpoint"),
    path(f"{JOB}/signals", JobSignals.as_view(), name="ojs-job-signals"),
    path(f"{JOB}/signals/<str:name>", JobSignal.as_view(), name="ojs-job-signal"),
    path(f"{JOB}/suspend", JobSuspension.as_view(), name="ojs-job-suspend"),
    path(
        "ojs/v1/admin/jobs/<str:job_id>/retry-from-step",
        JobRetryFromStep.as_view(),
        name="ojs-admin-job-retry-from-step",
    ),
]
