"""All routes of findings and rules."""

from django.urls import path

from attention.api.findings import FindingCollection, FindingDetail, FindingMute, FindingUnmute
from attention.api.runbooks import (
    NoteCollection,
    NoteDetail,
    ProcedureCollection,
    ProcedureDetail,
)
from attention.api.thresholds import RuleCollection, RuleDetail

PREFIX = "ojs/v1/admin/attention"
ONE = f"{PREFIX}/<str:finding_id>"

urlpatterns = [
    path(PREFIX, FindingCollection.as_view(), name="ojs-findings"),
    path(f"{PREFIX}/thresholds", RuleCollection.as_view(), name="ojs-attention-rules"),
    path(f"{PREFIX}/thresholds/<str:rule_id>", RuleDetail.as_view(), name="ojs-attention-rule"),
    path(f"{PREFIX}/notes", NoteCollection.as_view(), name="ojs-notes"),
    path(f"{PREFIX}/notes/<str:about>/<str:subject>", NoteDetail.as_view(), name="ojs-note"),
    path(f"{PREFIX}/procedures", ProcedureCollection.as_view(), name="ojs-procedures"),
    path(f"{PREFIX}/procedures/<str:name>", ProcedureDetail.as_view(), name="ojs-procedure"),
    path(ONE, FindingDetail.as_view(), name="ojs-finding"),
    path(f"{ONE}/mute", FindingMute.as_view(), name="ojs-finding-mute"),
    path(f"{ONE}/unmute", FindingUnmute.as_view(), name="ojs-finding-unmute"),
]
