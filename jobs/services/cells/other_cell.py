"""Run services in the database of another cell, from a process that serves nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import randrange
from typing import Final

from django.db import connections
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from jobs import caches, extensions, queries
from jobs.database import alias, atomic, new_direct_connection
from jobs.domain.errors import InvalidRequest

PLACES: Final = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host",
                 "PORT": "port"}  # fmt: skip


class OtherCell:
    """The database of another cell, which has the settings of this process.

    While a thread is `inside`, the ORM and all services see only that database. The caches of a
    process are emptied at each change of the database, and no lock guards them. So other threads of
    the process must not use the database of the jobs meanwhile.
    """

    def __init__(self, url: str) -> None:
        """Read the URL, in libpq's form. Raises InvalidRequest."""
        if not url.startswith(("postgres://", "postgresql://")):
            raise InvalidRequest.field("--to", "must start with postgresql://")
        try:
            given = conninfo_to_dict(url)
        except ProgrammingError as problem:
            reason = str(problem).partition(":")[0]  # the rest may have the password
            raise InvalidRequest.field("--to", f"cannot be read: {reason}") from None
        named = {name: str(given.pop(key, "") or "") for name, key in PLACES.items()}
        if not named["NAME"] and "service" not in given:
            named["NAME"] = "postgres"
        self._own = new_direct_connection()
        options = {**self._own.settings_dict["OPTIONS"], **given}
        self._own.settings_dict = {**self._own.settings_dict, **named, "OPTIONS": options}
        self.name = _name(named, given.get("service"))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let this thread use the other cell in the block."""
        before = connections[alias()]
        connections[alias()] = self._own
        _forget()
        try:
            yield
        finally:
            connections[alias()] = before
            _forget()

    def is_this_cell(self) -> bool:
        """Return whether it is the database of this cell, perhaps under another name."""
        number = randrange(2**31)  # noqa: S311 - no secret
        with atomic():
            queries.moving_mark(number)
            with self.inside():
                return queries.moving_is_marked(number)

    def close(self) -> None:
        """End the session."""
        self._own.close()


def own_name() -> str:
    """Return the name of this cell's database."""
    settings = connections[alias()].settings_dict
    return _name({name: str(settings.get(name) or "") for name in PLACES}, None)


def _name(named: dict[str, str], service: object) -> str:
    """Return host, port and database, without a password."""
    if service:
        return f"service {service}"
    port = f":{named['PORT']}" if named["PORT"] else ""
    return f"{named['HOST'] or 'localhost'}{port}/{named['NAME'] or named['USER']}"


def _forget() -> None:
    """Empty the caches of this process: they have values of one database."""
    caches.clear_all()
    extensions.clear_caches()
