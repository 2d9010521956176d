"""Load SQL files as statements: `<name>.sql` in a folder or below it, read once, run by name."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from jobs.database import thread_connection
from jobs.fastpath.statements import cursor_of, direct_of
from jobs.gather import prepare_wait
from jobs.repeat import refusal, repeated
from jobs.trips import Trip


class Statements:
    """The statements of one app, by the names of their files."""

    def __init__(self, folder: Path) -> None:
        """Find the files; their text is read later. Stored functions are no statements."""
        self._files = {
            path.stem: path
            for path in folder.rglob("*.sql")
            if path.relative_to(folder).parts[0] != "functions"
        }
        self.text = cache(self._read)
        self._whole = cache(self._filled)

    def _read(self, name: str) -> str:
        lines = self._files[name].read_text().splitlines()
        return "\n".join(line for line in lines if not line.startswith("--"))

    def rows(
        self,
        name: str,
        params: Mapping[str, Any],
        suffix: str = "",
        parts: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Run a statement and return its rows as tuples: ids as text, times in UTC, JSON as asked.

        A statement that is a transaction by itself is repeated after a deadlock. `suffix` is
        constant text that follows the statement, such as an order. `parts` are such texts by the
        mark that they replace, `/* mark */`.
        """
        text = self.text(name) + suffix
        for mark, part in (parts or {}).items():
            text = text.replace(f"/* {mark} */", part)
        mine = thread_connection()
        prepare_wait()
        return repeated(lambda: _fetched(cursor_of(mine), text, params), mine)

    def hot_rows(
        self,
        name: str,
        params: Mapping[str, Any],
        parts: tuple[tuple[str, str], ...] = (),
        on: BaseDatabaseWrapper | None = None,
    ) -> list[Any]:
        """Run a statement of the hot path, which casts each of its parameters.

        `parts` are the marks in it and the files that replace them; `on` is a connection other than
        this thread's. Outside of transactions the statement goes to libpq directly: see
        jobs/fastpath/statements.py.
        """
        text = self._whole(name, parts)
        if on is None:
            prepare_wait()
        mine = on or thread_connection()
        return repeated(lambda: _run(mine, text, params), mine)

    def begin_each(
        self,
        name: str,
        many: Sequence[Mapping[str, Any]],
        on: BaseDatabaseWrapper,
        parts: tuple[tuple[str, str], ...] = (),
    ) -> Trip[list[list[Any] | Exception]]:
        """Begin a statement of the hot path for each of `many`, in one round trip if possible.

        Each run is a transaction by itself. The trip's result is its rows, or its error after the
        repetitions that `hot_rows` makes.
        """
        text = self._whole(name, parts)
        direct = direct_of(cursor_of(on))
        if direct is None:
            return Trip(None, lambda: [_outcome(on, text, params) for params in many])
        return direct.begin_each(text, many).then(
            lambda found: [
                _outcome(on, text, params) if one is None or _may_repeat(one) else one
                for params, one in zip(many, found, strict=True)
            ]
        )

    def _filled(self, name: str, parts: tuple[tuple[str, str], ...]) -> str:
        text = self.text(name)
        for mark, part in parts:
            text = text.replace(f"/* {mark} */", self.text(part))
        return text


def _run(mine: BaseDatabaseWrapper, text: str, params: Mapping[str, Any]) -> list[Any]:
    kept = cursor_of(mine)
    direct = direct_of(kept)
    return direct.rows(text, params) if direct else _fetched(kept, text, params)


def _may_repeat(found: list[Any] | Exception) -> bool:
    undone = refusal(found) if isinstance(found, Exception) else None
    return undone is not None and undone.may_repeat


def _outcome(mine: BaseDatabaseWrapper, text: str, params: Mapping[str, Any]) -> Any:
    try:
        return repeated(lambda: _run(mine, text, params), mine)
    except Error as problem:
        return problem


def _fetched(cursor: CursorWrapper, text: str, params: Mapping[str, Any]) -> list[Any]:
    cursor.execute(text, params)
    return cursor.fetchall() if cursor.cursor.pgresult.nfields else []
