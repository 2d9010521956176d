"""Every route of workflows."""

from django.urls import path

from workflows.api.workflows import (
    WorkflowCancel,
    WorkflowCollection,
    WorkflowDetail,
    WorkflowProgress,
)

urlpatterns = [
    path("ojs/v1/workflows", WorkflowCollection.as_view(), name="ojs-workflows"),
    path("ojs/v1/workflows/<str:workflow_id>", WorkflowDetail.as_view(), name="ojs-workflow"),
    path(
        "ojs/v1/workflows/<str:workflow_id>/cancel",
        WorkflowCancel.as_view(),
        name="ojs-workflow-cancel",
    ),
    path(
        "ojs/v1/workflows/<str:workflow_id>/progress",
        WorkflowProgress.as_view(),
        name="ojs-workflow-progress",
    ),
]
