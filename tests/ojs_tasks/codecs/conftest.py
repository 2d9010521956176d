"""Keys and settings for the tests of codecs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ojs_tasks import server
from ojs_tasks.codecs import Codec, Encryption, Gzip, Key, KeyRing
from ojs_tasks.codecs.configured import coding

OLD, NEW = Key("2026-01", b"o" * 32), Key("2026-11", b"n" * 32)


@pytest.fixture
def ring() -> KeyRing:
    """Return a ring with a new and an old key."""
    return KeyRing.of(NEW, OLD)


@pytest.fixture
def codecs(ring: KeyRing) -> list[Codec]:
    """Return compression and encryption."""
    return [Gzip(), Encryption(ring)]


Configure = Callable[..., None]


@pytest.fixture
def configure(settings: Any) -> Iterator[Configure]:
    """Return a function that changes settings of OJS, and forgets what was read from them."""

    def change(**facts: Any) -> None:
        settings.OJS = {**settings.OJS, **facts}
        forget()

    yield change
    forget()


def forget() -> None:
    """Forget the servers and the codecs of earlier settings."""
    server._made.clear()
    coding.cache_clear()
