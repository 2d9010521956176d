"""The last release: its source, and databases that releases filled, all made by `make.py`."""

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
    "OJS_FEDERATION_ALLOW_PRIVATE": "true", "OJS_WEBHOOK_ALLOW_PRIVATE": "true",
}  # fmt: skip


def version() -> str:
    """Return the version number of the last release."""
    [path] = DATA.glob("*.tar.xz")
    return path.name.removesuffix(".tar.xz")


def older() -> list[str]:
    """Return the releases before the last one, the oldest first."""
    found = [path.name.removesuffix(".sql.gz") for path in DATA.glob("*.sql.gz")]
    return sorted(set(found) - {version()}, key=lambda one: [int(part) for part in one.split(".")])


def unpack(folder: Path) -> Path:
    """Unpack its source into a new folder; return the folder."""
    with tarfile.open(DATA / f"{version()}.tar.xz") as packed:
        # Python before 3.11.4, such as that of Debian 12, has no filters; the archive is our own
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(folder)  # noqa: S202
    return folder


def tables() -> dict[str, int]:
    """Return the number of rows of each table of its database."""
    found: dict[str, int] = {}
    table = None
    for line in _dump(version()).splitlines():
        if made := re.match(r"CREATE TABLE public\.(\w+)", line):
            found[made[1]] = 0
        if copied := re.match(r"COPY public\.(\w+) ", line):
            table = copied[1]
        elif line == "\\.":
            table = None
        elif table:
            found[table] += 1
    return found


def restore(url: str, of: str | None = None) -> None:
    """Restore the database of a release into an empty one; None: of the last release."""
    subprocess.run(
        [bin_dir() / "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", url],
        input=_dump(of or version()), text=True, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _dump(of: str) -> str:
    return gzip.decompress((DATA / f"{of}.sql.gz").read_bytes()).decode()
