"""The host project of the pages, on a database of its own."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs import host
from tests.docs.host import Host

# the wheel of this tree, and an empty database
from tests.package.conftest import database, full_python, once, wheel  # noqa: F401


@pytest.fixture
def project(tmp_path: Path, full_python: Path, database: dict[str, Any]) -> Host:  # noqa: F811
    """Return an empty host project whose database is empty, too."""
    return host.make(tmp_path / "project", full_python, database)
