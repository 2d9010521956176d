"""`KeyRing`: the keys of encryption, the newest first."""

import base64
import binascii
import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple, Self

from ojs_tasks.codecs.errors import CodecKeyUnknown

KEY_BYTES: Final = 32  # AES-256
KEY_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}")
MOST_KEYS: Final = 1000
AGAIN_S: Final = 5.0  # between two looks for a key that was not found


class Key(NamedTuple):
    """A key under its id. The id is stored with each job, so it must tell nothing secret."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        """Return the id alone."""
        return f"<Key {self.id}>"


Load = Callable[[], Iterable[Key]]  # all keys, the newest first


class KeyRing:
    """Keys by their ids. New jobs use the first key; older jobs name theirs.

    A key that is missing makes the ring load its keys again, at most every five seconds: so a
    rotation needs no restart of the workers. Producers use a new key when they start again, or
    after `reload`.
    """

    def __init__(self, load: Load) -> None:
        """Take a function that returns all keys, the newest first, such as a client of a KMS.

        Raises ValueError for wrong keys, and as the function.
        """
        self._load = load
        self._lock = threading.Lock()
        self._looked = monotonic()
        self._keys = _checked(load())

    def __repr__(self) -> str:
        """Return the ids."""
        return f"<KeyRing {', '.join(self._keys)}>"

    @classmethod
    def of(cls, *keys: Key) -> Self:
        """Return a ring of fixed keys, the newest first. Raises ValueError."""
        return cls(lambda: keys)

    @classmethod
    def from_env(cls, name: str) -> Self:
        """Read `id=base64 id=base64 …` from a variable of the environment. Raises ValueError."""
        return cls(lambda: parse(os.environ.get(name, ""), f"the variable {name}"))  # noqa: TID251

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a file with a line `id=base64` for each key. Raises ValueError or OSError."""
        return cls(lambda: parse(Path(path).read_text(encoding="ascii"), f"the file {path}"))

    @property
    def newest(self) -> Key:
        """The key of new jobs."""
        return next(iter(self._keys.values()))

    def key(self, key_id: str | None) -> Key:
        """Return the key with this id. Raises CodecKeyUnknown."""
        found = self._keys.get(key_id or "")
        if found is None and self._may_look():
            self.reload()
            found = self._keys.get(key_id or "")
        if found is None:
            raise CodecKeyUnknown(f"this process has no key {shown(key_id)}")
        return found

    def reload(self) -> None:
        """Load the keys again. Keeps the old ones and raises as the function if that fails."""
        self._keys = _checked(self._load())

    def _may_look(self) -> bool:
        with self._lock:
            if monotonic() - self._looked < AGAIN_S:
                return False
            self._looked = monotonic()
            return True


def parse(text: str, where: str) -> list[Key]:
    """Read `id=base64` words. Raises ValueError, which never shows a key."""
    keys = []
    for word in text.split():
        key_id, _, encoded = word.partition("=")
        try:
            keys.append(Key(key_id, base64.b64decode(encoded, validate=True)))
        except binascii.Error:
            raise ValueError(f"key {shown(key_id)} of {where} is no base64") from None
    if not keys:
        raise ValueError(f"{where} has no key: write id=base64, such as from `openssl rand`")
    return keys


def shown(key_id: str | None) -> str:
    """Return an id as a message may show it: a malformed one may be a secret."""
    return repr(key_id) if key_id and KEY_ID.fullmatch(key_id) else "with this id"


def _checked(keys: Iterable[Key]) -> dict[str, Key]:
    found: dict[str, Key] = {}
    for key in keys:
        if not KEY_ID.fullmatch(key.id):
            raise ValueError(f"the id of a key must match {KEY_ID.pattern}")
        if len(key.secret) != KEY_BYTES:
            raise ValueError(f"key {key.id!r} must have {KEY_BYTES} bytes")
        if key.id in found:
            raise ValueError(f"there are two keys {key.id!r}")
        found[key.id] = key
        if len(found) > MOST_KEYS:
            raise ValueError(f"a ring has at most {MOST_KEYS} keys")
    if not found:
        raise ValueError("a ring needs at least one key")
    return found
