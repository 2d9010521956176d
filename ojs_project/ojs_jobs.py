"""Handlers of the demo, registered with `quickstart --demo` only."""

from django.conf import settings

if settings.OJS_DEMO:
    from ojs_project import demo  # noqa: F401 - importing it registers the handlers
