"""The tables of the core that are in the database of the jobs."""

from django.apps import apps
from django.db import router

from jobs import database


def core_tables() -> list[str]:
    """Return their names; tables that refer to users may be in another database."""
    return sorted(
        model._meta.db_table
        for model in apps.get_app_config("ojs_jobs").get_models()
        if router.allow_migrate_model(database.alias(), model)
    )
