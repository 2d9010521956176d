"""Makes the project's own management commands known."""

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """The standalone server."""

    name = "ojs_project"
    label = "ojs_project"
