"""The API key: it goes into requests and is never shown."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

MAX_BYTES: Final = 4096

Source: TypeAlias = str | os.PathLike[str] | Callable[[], str] | None


class ApiKey:
    """A key, or where to find it. A file and a function are read for each request.

    So a key can be changed in place. The text of the key is in no message and no `repr`.
    """

    __slots__ = ("_source",)

    def __init__(self, source: Source) -> None:
        """Keep the source. Raises TypeError for a source of another kind."""
        if (
            source is not None
            and not callable(source)
            and not isinstance(source, str | os.PathLike)
        ):
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
        """The value of `Authorization`. Raises OSError, or ValueError for an impossible key."""
        return f"Bearer {_checked(self._read())}"

    def _read(self) -> str:
        if isinstance(self._source, str):
            return self._source.strip()
        if isinstance(self._source, os.PathLike):
            with Path(self._source).open("rb") as file:
                return file.read(MAX_BYTES + 1).decode("ascii", "replace").strip()
        return self._source().strip() if self._source else ""


def _checked(text: str) -> str:
    if not text:
        raise ValueError("OJS['API_KEY'] is empty")
    if len(text) > MAX_BYTES or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("OJS['API_KEY'] is no key: it has characters that a header cannot hold")
    return text
