"""Routes of the app."""

from django.urls import path

from versioning.api.versions import TypeVersionsView

urlpatterns = [
    path("ojs/v1/admin/versions/<str:type>", TypeVersionsView.as_view(), name="ojs-versions"),
]
