"""Application configuration of the core."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The core app; its label and tables are prefixed so that a host's own `jobs` app may exist."""

    name = "jobs"
    label = "ojs_jobs"
    verbose_name = "Open Job Spec"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, install the database router and record logins."""
        from jobs import checks, database_router  # noqa: F401,PLC0415 - checks register themselves
        from jobs.api import logins  # noqa: PLC0415

        database_router.install()
        logins.watch()
