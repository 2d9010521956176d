"""The API key: it goes into requests and is never shown."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from ojs_tasks.exceptions import NoServer

MAX_BYTES: Final = 4096

Source: TypeAlias = str | os.PathLike[str] | Callable[[], str] | None


class ApiKey:
    """A key, or where to find it. A file and a function are read for each request.

    So a key can be changed in place. The text of the key is in no message and no `repr`.
    """

    __slots__ = ("_source",)

    def __init__(self, source: Source) -> None:
        """Keep the source. Raises TypeError for a source of another kind."""
        is_readable = callable(source) or isinstance(source, str | os.PathLike)
        if source is not None and not is_readable:
            raise TypeError("OJS['API_KEY'] must be text, a path of a file, or a function")
        self._source = source or None

    def __repr__(self) -> str:
        """Return no part of the key."""
        return "<ApiKey>"

    def __reduce__(self) -> Any:
        """Refuse to be pickled: the key would be in the pickle."""
        raise TypeError("an API key cannot be pickled")

    def __bool__(self) -> bool:
        """Return whether there is a key."""
        return self._source is not None

    @property
    def header(self) -> str:
        """The value of `Authorization`. Raises NoServer for a key that cannot be used."""
        try:
            text = self._read()
        except OSError as problem:
            raise NoServer(f"OJS['API_KEY'] is unreadable: {problem}") from None
        if not text:
            raise NoServer("OJS['API_KEY'] is empty")
        if len(text) > MAX_BYTES or not text.isascii() or not text.isprintable() or " " in text:
            raise NoServer("OJS['API_KEY'] has characters that a header cannot hold")
        return f"Bearer {text}"

    def _read(self) -> str:
        source = self._source
        if isinstance(source, os.PathLike):
            with Path(source).open("rb") as file:
                return file.read(MAX_BYTES + 1).decode("ascii", "replace").strip()
        if callable(source):
            return source().strip()
        return (source or "").strip()
