"""Django's router for the models of these apps.

`jobs.apps` puts it first into the chain of routers, unless `DATABASE_ROUTERS` lists it. It answers
for these apps only.

Tables that refer to users of the host project stay in the database of the users: a foreign key
cannot lead to another database, and the deletion of a user deletes their rows.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from django.conf import settings
from django.db import router
from django.db.models import Model

from jobs.conf import conf
from jobs.database import alias, reading_alias

PATH: Final = "jobs.database_router.Router"
PREFIX: Final = "ojs_"  # of the labels of these apps


class Router:
    """Sends the models of these apps to `OJS["DATABASE"]`."""

    def db_for_read(self, model: type[Model], **_hints: Any) -> str | None:
        """Return the alias to read from; None: not a model of these apps."""
        return _alias_of(model, reading_alias)

    def db_for_write(self, model: type[Model], **_hints: Any) -> str | None:
        """Return the alias to write to; None: not a model of these apps."""
        return _alias_of(model, alias)

    def allow_migrate(
        self, db: str, app_label: str, model: type[Model] | None = None, **_hints: Any
    ) -> bool | None:
        """Return whether a database has a table of these apps; None: not of these apps."""
        if not _is_ours(app_label):
            return None
        chosen = {conf().database, conf().direct_database}
        if model is None or not refers_to_users(model):
            return db in chosen
        users = _users_alias()
        return db in chosen if users in chosen else db == users


def install() -> None:
    """Put the router first into `DATABASE_ROUTERS`, unless the project has placed it."""
    if PATH not in settings.DATABASE_ROUTERS:
        settings.DATABASE_ROUTERS = [PATH, *settings.DATABASE_ROUTERS]
        router.__dict__.pop("routers", None)  # cached, if a query came before


@lru_cache(maxsize=1024)  # models of migrations come and go
def refers_to_users(model: type[Model]) -> bool:
    """Return whether a model has a foreign key to the users of the host project."""
    user = settings.AUTH_USER_MODEL.lower()
    return any(
        field.remote_field is not None and field.remote_field.model._meta.label_lower == user
        for field in model._meta.local_fields
    )


def _alias_of(model: type[Model], ours: Callable[[], str]) -> str | None:
    if not _is_ours(model._meta.app_label):
        return None
    return _users_alias() if refers_to_users(model) else ours()


def _is_ours(label: str) -> bool:
    return label.startswith(PREFIX)


def _users_alias() -> str:
    from django.contrib.auth import get_user_model  # noqa: PLC0415 - not before all models

    return router.db_for_write(get_user_model())
