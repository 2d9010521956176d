"""The HTTP API of all installed apps, to include under any prefix of a project.

Include it without a namespace: answers and the console find its paths by their names.
"""

from django.urls import include, path

from jobs.api.urls import fallback
from ojs_tasks.installed import has_app

# the app, and the URL modules that need it
EXTENSIONS = (
    ("attention", ("attention.api.urls",)),
    ("durable", ("durable.api.urls",)),
    ("federation", ("federation.api.urls",)),
    ("scheduling", ("scheduling.api.urls",)),
    ("tenancy", ("tenancy.api.urls",)),
    ("versioning", ("versioning.api.urls", "versioning.api.schema_urls")),
    ("webhooks", ("webhooks.api.urls",)),
    ("workflows", ("workflows.api.urls",)),
)

urlpatterns = [
    path("", include("jobs.api.urls")),
    *(
        path("", include(module))
        for app, modules in EXTENSIONS
        if has_app(app)
        for module in modules
    ),
    *fallback,
]
