"""System checks of the database of the jobs: its alias, its version, its pooler, its routers."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections, router
from django.db.models import Model

from jobs.conf import conf
from jobs.database import users_alias
from jobs.database_router import PREFIX, refers_to_users

OLDEST: Final = 15  # the first release of PostgreSQL that has all that the statements use


@register("ojs")
def check_aliases(**_options: Any) -> list[CheckMessage]:
    """Report unknown aliases and a pooler without a way past it."""
    found: list[CheckMessage] = [
        Error(
            f"OJS[{key!r}] is {alias!r}: no such database",
            hint=f"use one of {', '.join(settings.DATABASES)}", id=number,
        )
        for key, alias, number in (
            ("DATABASE", conf().database, "ojs.E008"),
            ("DIRECT_DATABASE", conf().direct_database, "ojs.E005"),
            ("REPLICA_DATABASE", conf().replica_database or conf().database, "ojs.E044"),
        )
        if alias not in settings.DATABASES
    ]  # fmt: skip
    return found or [*_pooler(), *_routed()]


@register(Tags.database)
def check_database(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Report a database that is not PostgreSQL, or is too old. Connects to it."""
    ours = {conf().database, conf().direct_database} & set(settings.DATABASES)
    return [problem for alias in sorted(ours & set(databases or ())) for problem in _server(alias)]


def _server(alias: str) -> Iterator[CheckMessage]:
    connection = connections[alias]
    if connection.vendor != "postgresql":
        yield Error(
            f"the database {alias!r} is {connection.display_name}, and the jobs need PostgreSQL",
            hint="add a PostgreSQL database to DATABASES and name its alias in OJS['DATABASE']",
            id="ojs.E040",
        )
        return
    version = connection.pg_version  # type: ignore[attr-defined]  # of PostgreSQL's wrapper
    if version // 10_000 < OLDEST:
        yield Error(
            f"the database {alias!r} is PostgreSQL {version // 10_000}",
            hint=f"use PostgreSQL {OLDEST} or newer",
            id="ojs.E041",
        )


def _pooler() -> Iterator[CheckMessage]:
    is_pooled = settings.DATABASES[conf().database].get("DISABLE_SERVER_SIDE_CURSORS")
    if is_pooled and conf().direct_database == conf().database:
        yield Error(
            "the database is behind a pooler, and there is no connection past it for LISTEN and"
            " long locks",
            hint="set OJS_DIRECT_DATABASE_URL; in a project of your own add the database itself to"
            " DATABASES and name its alias in OJS['DIRECT_DATABASE']",
            id="ojs.E042",
        )


def _routed() -> Iterator[CheckMessage]:
    for model in apps.get_models():
        if model._meta.app_label.startswith(PREFIX) and (wrong := _wrong_alias(model)):
            expected, found = wrong
            yield Error(
                f"a database router sends {model._meta.label} to {found!r} instead of {expected!r}",
                hint="list 'jobs.database_router.Router' first in DATABASE_ROUTERS, or let your"
                f" routers return None for apps whose label begins with {PREFIX!r}",
                obj=model,
                id="ojs.E043",
            )


def _wrong_alias(model: type[Model]) -> tuple[str, str] | None:
    expected = users_alias() if refers_to_users(model) else conf().database
    for found in (router.db_for_write(model), router.db_for_read(model)):
        if found != expected:
            return expected, found
    return None if router.allow_migrate_model(expected, model) else (expected, "no database")
