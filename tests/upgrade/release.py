"""The last release: its source, and a database that it filled, both made by `make.py`."""

import gzip
import re
import subprocess
import tarfile
from pathlib import Path

from ojs_project.postgres import bin_dir

DATA = Path(__file__).resolve().parent / "data"
SETTINGS = {
    "OJS_AUTH": "off", "OJS_ALLOW_INSECURE": "true", "OJS_SECRET_KEY": "for-tests-" + "x" * 50,
    "OJS_LOG_LEVEL": "WARNING",
}  # fmt: skip


def version() -> str:
    """Return the version number of the release."""
    [path] = DATA.glob("*.tar.xz")
    return path.name.removesuffix(".tar.xz")


def unpack(folder: Path) -> Path:
    """Unpack its source into a new folder; return the folder."""
    with tarfile.open(DATA / f"{version()}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder


def tables() -> dict[str, int]:
    """Return the number of rows of each table of its database."""
    found: dict[str, int] = {}
    table = None
    for line in _dump().splitlines():
        if made := re.match(r"CREATE TABLE public\.(\w+)", line):
            found[made[1]] = 0
        if copied := re.match(r"COPY public\.(\w+) ", line):
            table = copied[1]
        elif line == "\\.":
            table = None
        elif table:
            found[table] += 1
    return found


def restore(url: str) -> None:
    """Restore its database into an empty one."""
    subprocess.run(
        [bin_dir() / "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", url],
        input=_dump(), text=True, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _dump() -> str:
    return gzip.decompress((DATA / f"{version()}.sql.gz").read_bytes()).decode()
