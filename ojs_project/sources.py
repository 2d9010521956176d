"""The files of the code, watched for changes: `quickstart --reload`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.apps import apps

SUFFIXES: Final = {".html", ".py", ".sql"}
INSTALLED: Final = {"dist-packages", "site-packages"}  # packages do not change meanwhile


class Sources:
    """The times of change of the files below some folders."""

    def __init__(self, folders: list[Path]) -> None:
        """Read the present times."""
        self._folders = folders
        self._times = dict(self._read())

    def have_changed(self) -> bool:
        """Return whether a file was changed, added or removed since the last call."""
        before, self._times = self._times, dict(self._read())
        return before != self._times

    def _read(self) -> Iterator[tuple[Path, int]]:
        for folder in self._folders:
            for path in folder.rglob("*"):
                if path.suffix in SUFFIXES:
                    try:
                        yield path, path.stat().st_mtime_ns
                    except FileNotFoundError:  # removed since it was listed
                        continue


def of_project() -> Sources:
    """Return the sources of the server and of all apps that are no installed packages."""
    folders = [Path(config.path) for config in apps.get_app_configs()]
    folders += [Path(__file__).parent, Path(__file__).parent.parent / "templates"]
    return Sources([one for one in folders if not INSTALLED & set(one.parts)])
