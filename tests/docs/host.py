"""A host project in which the code blocks of the manual run, with the installed wheel.

`make` is the only place that knows where the server's code comes from.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.package.host import new_host
from tests.project.conftest import clean_environment


@dataclass(frozen=True, slots=True)
class Host:
    """A project's folder, and the environment of its processes."""

    folder: Path
    environment: Mapping[str, str]
    python: str


def make(folder: Path, python: Path, database: Mapping[str, Any]) -> Host:
    """Make a project as `django-admin startproject` does, without any app of ours."""
    new_host(folder, python, database)
    environment = {
        **clean_environment(),
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    return Host(folder, environment, str(python))
