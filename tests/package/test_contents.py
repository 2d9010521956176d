"""What the wheel contains."""

import zipfile
from email import message_from_bytes
from pathlib import Path

from tests.package.dist import contents, packages, tracked

MARKER = "py.typed"


def test_the_wheel_has_every_tracked_file_of_the_packages(wheel: Path) -> None:
    assert tracked() - contents(wheel) == set()


def test_the_wheel_has_nothing_but_the_packages(wheel: Path) -> None:
    assert {path.partition("/")[0] for path in contents(wheel)} == set(packages())


def test_every_package_says_that_it_is_typed(wheel: Path) -> None:
    assert {f"{name}/{MARKER}" for name in packages()} - contents(wheel) == set()


def test_the_wheel_names_its_extras_and_its_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (info,) = {path.partition("/")[0] for path in opened.namelist() if ".dist-info/" in path}
        facts = message_from_bytes(opened.read(f"{info}/METADATA"))
        scripts = opened.read(f"{info}/entry_points.txt").decode()

    extras = {
        "all", "codecs", "console", "dev", "docs", "embedded", "federation", "otel", "server",
        "tasks",
    }  # fmt: skip
    assert set(facts.get_all("Provides-Extra", [])) == extras
    assert "ojs-server = ojs_project.__main__:main" in scripts
    assert "[pytest11]\nojs_tasks = ojs_tasks.pytest_plugin" in scripts
