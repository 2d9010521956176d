"""python -m tests.upgrade.make COMMIT: store a release's source and a database that it filled.

Run it once for each release, after its commit is tagged. The tests then need no history of git:
they run the release's processes from the stored source, and upgrade the stored database. It deletes
the source of the release before. The databases of all releases stay.
"""

import gzip
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ojs_project.postgres import Cluster, bin_dir
from tests.upgrade.release import DATA, SETTINGS, unpack

ROOT = Path(__file__).resolve().parent.parent.parent
# files that its processes need, without the static files for browsers
PARTS = [
    "manage.py", "pyproject.toml", "attention", "console", "durable", "encryption", "federation",
    "jobs", "ojs_project", "ojs_tasks", "scheduling", "templates", "tenancy", "versioning",
    "webhooks", "workflows", ":!*/static/*",
]  # fmt: skip


def main(commit: str) -> None:
    """Replace the stored release by this commit."""
    source = git("archive", commit, "--", *PARTS)
    version = re.findall(rb'VERSION = "([\d.]+)"', git("show", f"{commit}:jobs/__init__.py"))[0]
    for path in DATA.glob("*.tar.xz"):
        path.unlink()
    packed = DATA / f"{version.decode()}.tar.xz"
    packed.write_bytes(lzma.compress(source, preset=9 | lzma.PRESET_EXTREME))
    with tempfile.TemporaryDirectory(prefix="ojs-make-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        dump = filled(folder)
    (DATA / f"{version.decode()}.sql.gz").write_bytes(gzip.compress(dump, mtime=0))


def git(*arguments: str) -> bytes:
    """Run git and return its output."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S607


def filled(folder: Path) -> bytes:
    """Return the dump of a database that the release made and filled."""
    source = unpack(folder / "source")
    with Cluster(folder / "cluster", {"fsync": "off"}) as cluster:
        environment = {**os.environ, **SETTINGS, "DATABASE_URL": cluster.url,
                       "OJS_FEDERATION_LOCAL_REGION": "us", "PYTHONPATH": str(source)}  # fmt: skip
        fill = Path(__file__).resolve().parent / "fill.py"
        for command in (["manage.py", "migrate", "--verbosity", "0"], [str(fill)]):
            subprocess.run([sys.executable, *command], cwd=source, env=environment, check=True)
        return subprocess.run(
            [bin_dir() / "pg_dump", "--no-owner", "--no-privileges", cluster.url],
            check=True, capture_output=True,
        ).stdout  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
