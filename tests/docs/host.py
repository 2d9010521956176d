"""Host projects in which the code blocks of the manual run, with the installed wheel.

`make` is the only place that knows where the server's code comes from.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import django

from docs.site import DOCS, markdown
from tests.package.host import Host as Project
from tests.package.host import new_host
from tests.project.conftest import clean_environment

EXTENSIONS: Final = """
INSTALLED_APPS += [
    "scheduling.apps.SchedulingConfig", "versioning.apps.VersioningConfig",
    "tenancy.apps.TenancyConfig", "workflows.apps.WorkflowsConfig",
]
OJS = {"EXTENSIONS": [
    "scheduling.extension.Cron", "scheduling.extension.FairScheduling",
    "versioning.extension.Versioning", "tenancy.extension.Tenancy",
    "workflows.extension.WorkflowsExtension",
]}
"""


class Kind(Enum):
    """What the project of a page has before its first block."""

    EMPTY = auto()  # what `django-admin startproject` makes
    BARE = auto()  # an app `shop`, without modules
    TWO = auto()  # the same, and a second database, `jobs`
    CORE = auto()  # the app `jobs` in the settings, and the app `shop`
    APPS = auto()  # the server's apps and extensions in the settings, and the app `shop`


OF_PAGE: Final = {
    "tutorial.md": Kind.EMPTY,
    "sample.md": Kind.BARE,
    "testing.md": Kind.CORE,  # its tests make databases
    "host.md": Kind.TWO,
    "remote.md": Kind.BARE,
}


@dataclass(frozen=True, slots=True)
class Host:
    """A project's folder, and the environment of its processes.

    `stand_ins` replaces addresses and paths that only readers have, such as that of their server.
    """

    folder: Path
    environment: Mapping[str, str]
    python: str
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    def read(self, text: str) -> str:
        """Return the text of a block for this project."""
        for written, real in self.stand_ins.items():
            text = text.replace(written, real)
        return text


def make(
    folder: Path, started: Path, python: Path, database: Mapping[str, Any], kind: Kind,
) -> Host:  # fmt: skip
    """Make a project from a copy of an empty one, on a database of its own."""
    shutil.copytree(started, folder)
    project = Project(folder, python)
    project.use_database(database)
    if kind is not Kind.EMPTY:
        project.write("shop/__init__.py", "")
    if kind in {Kind.CORE, Kind.APPS}:
        project.add_settings(f'{settings_of_the_tutorial()}\nINSTALLED_APPS += ["shop"]\n')
    if kind is Kind.APPS:
        project.add_settings(EXTENSIONS)
    stand_ins = {'"NAME": "jobs"': f'"NAME": "{database["NAME"]}_jobs"'}
    if django.VERSION < (6,):
        project.add_settings('\nINSTALLED_APPS += ["django_tasks"]\n' * (kind is Kind.APPS))
        stand_ins["from django.tasks import"] = "from django_tasks import"
    return Host(folder, environment(python), str(python), stand_ins)


def settings_of_the_tutorial() -> str:
    """Return the settings that the tutorial adds to those of an empty project."""
    found = markdown.blocks((DOCS / "tutorial.md").read_text())
    return next(one.text for one in found if one.info == "append=config/settings.py")


def environment(python: Path) -> dict[str, str]:
    """Return the environment of a project's processes."""
    return {
        **clean_environment(),
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PIP_NO_INDEX": "true",  # pip finds the wheel and its dependencies here
    }


def start(folder: Path, python: Path) -> Path:
    """Make an empty project as `django-admin startproject` does."""
    return new_host(folder, python).folder
