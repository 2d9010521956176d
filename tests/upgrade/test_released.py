"""Released migrations stay unchanged, and docs/releases.md names each release."""

import re
import tomllib

import pytest

from jobs import SERVES, VERSION
from jobs.services.storage.schema import FIRST
from tests.upgrade.freeze import ROOT, migrations, released

FROZEN = [(release, path, made) for release, of in released().items() for path, made in of.items()]
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (\S+) \| (.+?) \| (.+) \|$", re.MULTILINE)


def listed() -> list[str]:
    """Return the releases of docs/releases.md, the newest first."""
    return [row[0] for row in ROW.findall((ROOT / "docs" / "releases.md").read_text())]


@pytest.mark.parametrize(("release", "path", "made"), FROZEN, ids=[path for _, path, _ in FROZEN])
def test_a_released_migration_is_never_edited(release: str, path: str, made: str) -> None:
    assert migrations().get(path) == made, (
        f"{path} belongs to release {release} and databases have run it: undo the change,"
        " and write a new migration"
    )


def test_the_version_has_one_source() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "jobs/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_every_release_is_listed_with_what_an_operator_must_do() -> None:
    rows = ROW.findall((ROOT / "docs" / "releases.md").read_text())

    assert listed()[0] == VERSION
    assert listed()[-1] == FIRST
    assert all(all(cell.strip() for cell in row) for row in rows)
    assert set(released()) <= set(listed())


def test_this_release_serves_processes_of_the_one_before() -> None:
    assert listed()[1] == SERVES
