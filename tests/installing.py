"""Other extensions for a part of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobs.extensions import Extension, registry


@contextmanager
def installing(*extensions: Extension) -> Iterator[None]:
    """Put these extensions in the place of the installed extensions, in this order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "installed", lambda: extensions)
        registry.by_hook.cache_clear()
        try:
            yield
        finally:
            registry.by_hook.cache_clear()
