"""The API under a prefix."""

from django.urls import include, path

urlpatterns = [path("ops/ojs/", include("ojs_project.urls_api"))]
