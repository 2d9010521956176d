"""Three real servers, for the tests of one module."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.federation.rig import Rig, running


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """Return three regions, each with its own PostgreSQL and its own loopback address."""
    folder = Path(tempfile.mkdtemp(prefix="ojs-regions-"))
    folder.chmod(0o711)  # root's PostgreSQL account enters it
    with running(folder) as found:
        yield found
    shutil.rmtree(folder)
