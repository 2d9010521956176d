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
        # importing the checks is their registration
        from jobs import checks, checks_database, database_router, logs  # noqa: F401,PLC0415
        from jobs.api import logins  # noqa: PLC0415

        database_router.install()
        logs.use_fallback()
        logins.watch()
