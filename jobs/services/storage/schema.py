"""Compare the database's tables and functions with this release. See docs/upgrading.md."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Final

from django.apps import apps
from django.apps.registry import Apps
from django.contrib.auth import get_user_model
from django.db import connections, router
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from jobs import SERVES, VERSION, queries
from jobs.conf import conf
from jobs.database import connection, new_direct_connection, users_alias
from jobs.database_router import PREFIX

FIRST: Final = "0.1.0"  # the first release
ASK_S: Final = 0.5
SHOWN: Final = 3  # differences in a refusal
# tables of release 0.1.0 that its migrations made without models
BESIDE_MODELS: Final = {
    ("ojs_jobs", "0002_storage"): ("ojs_lane_id", "ojs_lane_asleep", "ojs_lane_apart"),
    ("ojs_jobs", "0003_access"): ("ojs_audit_kept",),
}


class SchemaRefused(Exception):
    """The reason why this release cannot upgrade a database, in one line for the operator."""


class SchemaBusy(Exception):
    """Another process migrates."""


def lacking() -> list[str]:
    """Return missing parts of this release: migrations, tables, columns, functions."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(_targets(executor.loader))
    found = [f"migration {migration.app_label}.{migration.name}" for migration, _ in plan]
    found += _missing_columns(_models(apps))
    release = queries.release()
    if release is None:
        return found or ["functions"]
    if _is_newer(release.version) and not _is_newer(release.serves):
        return found  # its functions are newer, and answer our calls
    return found + [f"function {name}" for name in queries.outdated_functions()]


@contextmanager
def alone(wait_s: float) -> Iterator[None]:
    """Be the only process that migrates. Raises SchemaBusy when another does for too long.

    The lock belongs to a transaction of its own, which a pooler leaves in one session.
    """
    own = new_direct_connection()
    own.ensure_connection()
    own.set_autocommit(False)
    until = monotonic() + wait_s
    try:
        while (holder := queries.lock_schema(own)) is not None:
            if monotonic() >= until:
                raise SchemaBusy(
                    f"another process migrates this database (session {holder}) and did not end"
                    f" within {wait_s:g} s: wait for it and run this again"
                )
            own.rollback()
            Event().wait(ASK_S)
        yield
    finally:
        own.close()


def check() -> None:
    """Refuse a database that this release cannot upgrade. Changes nothing. Raises SchemaRefused."""
    loader = MigrationLoader(connection)
    applied = {key for key in loader.applied_migrations if key[0] in _labels()}
    release = queries.release()
    unknown = sorted(f"{label}.{name}" for label, name in applied - loader.disk_migrations.keys())
    if release is not None and (_is_newer(release.version) or unknown):
        raise SchemaRefused(
            f"the database is of release {release.version}, this is {VERSION}"
            f"{_because(unknown)}: run release {release.version} or newer, nothing was changed"
        )
    differences = [f"unknown migration {name}" for name in unknown]
    if release is None and applied:
        differences += _differences(loader, applied & loader.disk_migrations.keys())
    if differences:
        raise SchemaRefused(
            f"the database is older than release {FIRST}, the first that can be upgraded"
            f"{_because(differences)}: use a new database, or see docs/upgrading.md;"
            " nothing was changed"
        )


def check_users() -> None:
    """Refuse to migrate before the database that has the users. Raises SchemaRefused."""
    users = users_alias()
    if is_ours(users):
        return
    if get_user_model()._meta.db_table not in connections[users].introspection.table_names():
        raise SchemaRefused(
            f"the database {users!r} has no users yet, to whom roles are given: run"
            f" migrate --database={users} first, nothing was changed"
        )


def finish(alias: str) -> list[str]:
    """Install changed functions and store the release, once all migrations are applied.

    Returns the functions that were changed.
    """
    executor = MigrationExecutor(connections[alias])
    ours = [key for key in executor.loader.graph.leaf_nodes() if key[0] in _labels()]
    if executor.migration_plan(ours):
        return []
    changed = queries.install_functions(connections[alias])
    queries.keep_release(queries.Release(VERSION, SERVES))
    return changed


def bound_locks(alias: str, lock_ms: int) -> None:
    """Set the lock timeout of a migration's statements, 0: none; and remove their time limit."""
    if not _is_pooled(alias):
        queries.bound_session(connections[alias], lock_ms)


def lift_bounds(alias: str) -> None:
    """Restore the settings of the connection."""
    if not _is_pooled(alias):
        queries.unbound_session(connections[alias])


def _is_pooled(alias: str) -> bool:
    """Return whether a transaction-mode pooler shares the sessions: settings of one stay in it."""
    return bool(connections[alias].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))


def is_ours(alias: str) -> bool:
    """Return whether a database is the database of the jobs."""
    return alias in {conf().database, conf().direct_database}


def _targets(loader: MigrationLoader) -> list[tuple[str, str]]:
    """Return the last migrations that the database of the jobs must have.

    The other apps of the project count only where the users are: these apps refer to them.
    """
    leaves: list[tuple[str, str]] = loader.graph.leaf_nodes()
    if users_alias() == connection.alias:
        return leaves
    return [key for key in leaves if key[0] in _labels()]


def _labels() -> set[str]:
    return {app.label for app in apps.get_app_configs() if app.label.startswith(PREFIX)}


def _models(of: Apps) -> list[type[Model]]:
    return [
        model
        for model in of.get_models(include_auto_created=True)
        if model._meta.app_label in _labels()
        and model._meta.managed
        and not model._meta.proxy
        and router.allow_migrate_model(connection.alias, model)
    ]


def _columns(models: Iterable[type[Model]]) -> dict[tuple[str, str], str]:
    """Return the types of the columns of models, by table and column."""
    return {
        (model._meta.db_table, field.column): kind
        for model in models
        for field in model._meta.local_fields
        if field.column and (kind := field.db_type(connection)) is not None
    }


def _missing_columns(models: Iterable[type[Model]]) -> list[str]:
    wanted = _columns(models)
    present = queries.columns({table for table, _ in wanted})
    return _missing(wanted, present)


def _missing(wanted: Iterable[tuple[str, str]], present: Iterable[queries.Column]) -> list[str]:
    columns = {(column.table, column.name) for column in present}
    tables = {table for table, _ in columns}
    gone = sorted({table for table, _ in wanted} - tables)
    lost = sorted(f"{table}.{name}" for table, name in set(wanted) - columns if table in tables)
    return [*(f"table {name}" for name in gone), *(f"column {name}" for name in lost)]


def _differences(loader: MigrationLoader, applied: set[tuple[str, str]]) -> list[str]:
    """Return how the tables differ from the tables that the applied migrations make today."""
    models = _models(loader.project_state(sorted(applied)).apps)
    wanted = _columns(models)
    tables = {table for table, _ in wanted}
    present = queries.columns(tables)
    spelled = queries.spelled(set(wanted.values()))
    names = {name for model in models for name in _named(model)}
    names |= {name for key in applied for name in BESIDE_MODELS.get(key, ())}
    found = [f"no {part}" for part in _missing(wanted, present)]
    for column in present:
        key = column.table, column.name
        if key not in wanted and column.is_required:
            found.append(f"unknown column {column.table}.{column.name}")
        elif key in wanted and column.type != spelled[wanted[key]]:
            found.append(f"column {column.table}.{column.name} is {column.type}")
    missing = sorted(names - queries.schema_names(tables))
    return found + [f"no index, constraint or trigger {name}" for name in missing]


def _named(model: type[Model]) -> list[str]:
    made = [*model._meta.indexes, *model._meta.constraints]
    return [one.name for one in made if one.name]


def _is_newer(version: str) -> bool:
    """Return whether a release comes after this one."""
    return _parts(version) > _parts(VERSION)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _because(differences: list[str]) -> str:
    more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    shown = ", ".join(differences[:SHOWN])
    return f" ({shown}{more})" if shown else ""
