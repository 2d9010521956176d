"""Registers the server's own management commands and its site of Django's admin."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig

from ojs_tasks import telemetry


class ProjectConfig(AppConfig):
    """The standalone server."""

    name = "ojs_project"
    label = "ojs_project"

    def ready(self) -> None:
        """Configure traces if the variables of OpenTelemetry ask for them."""
        telemetry.configure()


class SiteConfig(AdminConfig):
    """Django's admin with the console's rules."""

    default_site = "console.site.Site"
