"""All pages and the API, for one line in the URL configuration of a host project.

    path("ops/ojs/", include("ojs_project.urls_host"))

Nothing is served outside the prefix: the API is at `ops/ojs/ojs/v1/…`, the console at
`ops/ojs/console/`, and Django's admin of these apps at `ops/ojs/admin/`. Each of them can be
included alone: `ojs_project.urls_api`, `console.urls`, `ojs_project.urls_admin`.
"""

from django.apps import apps
from django.urls import include, path
from django.views.generic import RedirectView

from ojs_tasks.installed import has_app

urlpatterns = []
if has_app("console"):
    urlpatterns += [
        path("", RedirectView.as_view(pattern_name="ojs_console:overview")),
        path("console/", include("console.urls")),
    ]
    if apps.is_installed("django.contrib.admin"):
        urlpatterns += [path("admin/", include("ojs_project.urls_admin"))]
urlpatterns += [path("", include("ojs_project.urls_api"))]
