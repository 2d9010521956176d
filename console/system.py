"""The content of the system page: loops, database, versions, settings."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from importlib import import_module
from typing import Any, Final
from zlib import crc32

import django
from django.utils import timezone

from console import queries
from console.conf import conf as console_conf
from jobs import VERSION, extensions
from jobs.conf import conf
from jobs.loops import all_loops
from jobs.services.health.health import STALE_LOOP_MS, uptime_seconds
from jobs.services.read import replica
from jobs.services.read.replica import Standing
from ojs_tasks.installed import has_app

TABLES: Final = 15
# parts of names of settings with masked values
SECRET: Final = ("secret", "password", "token", "key", "keys")
MASK: Final = "\N{BULLET}" * 6
DEAD: Final = 0.2  # part of dead rows that marks a table;
MANY: Final = 10_000  # fewer dead rows are not significant
LONG_MS: Final = 300_000  # age of an open transaction from which vacuum falls behind
SKEW_MS: Final = 1_000  # between the clocks of this machine and of the database
CONFIGURED: Final = ("scheduling", "tenancy", "versioning", "federation", "webhooks", "workflows")


@dataclass(frozen=True, slots=True)
class System:
    """The state of all parts at one time."""

    loops: list[queries.LoopState]
    database: queries.Database
    tables: list[queries.TableSize]
    replicas: list[queries.Replica]
    reads: Standing | None  # of the replica that serves pages and lists; None: none is set
    skew_ms: int  # this machine's clock minus the database's clock
    versions: list[tuple[str, str]]
    settings: list[tuple[str, list[tuple[str, Any]]]]  # by application
    uptime_ms: int

    @property
    def is_skewed(self) -> bool:
        """Return whether the clocks disagree."""
        return abs(self.skew_ms) > SKEW_MS

    @property
    def is_held(self) -> bool:
        """Return whether an old transaction keeps dead rows from being removed."""
        since = self.database.oldest_transaction_at
        return since is not None and (self.database.now - since).total_seconds() * 1000 > LONG_MS

    @property
    def bloated(self) -> list[str]:
        """Return the tables with a large part of dead rows."""
        return [one.name for one in self.tables if one.dead >= MANY and one.dead_part >= DEAD]


def system() -> System:
    """Read the state of the system; four statements, and two for a replica that serves reads."""
    found = queries.database()
    skew = timezone.now() - found.now
    return System(
        loops=loops(),
        database=found,
        tables=queries.tables(TABLES),
        replicas=queries.replicas(),
        reads=replica.watch.standing() if conf().replica_database else None,
        skew_ms=round(skew.total_seconds() * 1000),
        versions=_versions(found),
        settings=settings(),
        uptime_ms=uptime_seconds() * 1000,
    )


def loops() -> list[queries.LoopState]:
    """Read the state of the loops; one statement."""
    keys = {loop.name: crc32(loop.name.encode()) & 0x7FFFFFFF for loop in all_loops()}
    return queries.loops(keys, STALE_LOOP_MS)


def _versions(found: queries.Database) -> list[tuple[str, str]]:
    return [
        ("Server", VERSION),
        ("Django", django.get_version()),
        ("Python", platform.python_version()),
        ("PostgreSQL", found.version),
        ("Extensions", ", ".join(type(one).__name__ for one in extensions.installed())),
    ]


def settings() -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return the settings in force by application, with masked secrets."""
    found: list[tuple[str, Any]] = [("jobs", conf()), ("console", console_conf())]
    for app in CONFIGURED:
        if has_app(app) and (read := _conf_of(app)) is not None:
            found.append((app, read))
    return [(app, _shown(asdict(one))) for app, one in found]


def _conf_of(app: str) -> Any:
    try:
        read = import_module(f"{app}.conf").conf()
    except (ImportError, AttributeError):  # the app has no settings
        return None
    return read if is_dataclass(read) else None


def _shown(chosen: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, _masked(name, value)) for name, value in sorted(chosen.items())]


def _masked(name: str, value: Any) -> Any:
    """Return a value with masked secrets, also inside nested objects."""
    if _is_secret(name):
        return MASK if value not in (None, "", ()) else value
    if isinstance(value, Mapping):
        return {inner: _masked(inner, one) for inner, one in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(name, one) for one in value] if _has_objects(value) else value
    return value


def _has_objects(values: Sequence[Any]) -> bool:
    return any(isinstance(one, Mapping) for one in values)


def _is_secret(name: str) -> bool:
    # numbers and names of algorithms for keys are no secrets
    is_about = name.endswith(("_ms", "hasher")) or name.startswith(("max_", "keep_", "sse_"))
    return not is_about and any(part in SECRET for part in name.split("_"))
