"""python -m tests.package.dist: build wheel and sdist into dist/ and check them.

Both have exactly the files of the packages that git tracks, and two builds are equal byte by byte:
the time of the last commit replaces the clock. The exit status is 1 if a check fails.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
DIST: Final = ROOT / "dist"
TEMPLATES: Final = "templates"  # a wheel has this folder inside the package PACKED
PACKED: Final = "ojs_project"
# files that the sdist has besides the packages
AROUND: Final = {
    ".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md",
    "pyproject.toml",
}  # fmt: skip


def packages() -> list[str]:
    """Return the names of the top-level packages that pyproject.toml lists and that exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return [name for name in names if (ROOT / name).is_dir()]


def tracked() -> set[str]:
    """Return the paths in a wheel of all files that belong into it, git tracks and that exist."""
    listed = _output("git", "ls-files", "-z", "--", *packages(), TEMPLATES).split("\0")
    return {_packed(path) for path in listed if path and (ROOT / path).exists()}


def _packed(path: str) -> str:
    """Return the path in a wheel of a file of the repository."""
    return f"{PACKED}/{path}" if path.startswith(f"{TEMPLATES}/") else path


def build(folder: Path, *arguments: str) -> list[Path]:
    """Build into a folder, without network, and return the files made; `--wheel`: only a wheel."""
    epoch = _output("git", "log", "-1", "--format=%ct").strip()
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, *arguments, ROOT],
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return sorted(folder.iterdir())


def contents(built: Path) -> set[str]:
    """Return the paths of the files of a wheel or an sdist, relative to its packages."""
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as wheel:
            return {path for path in wheel.namelist() if ".dist-info/" not in path}
    with tarfile.open(built) as sdist:
        paths = {member.name.partition("/")[2] for member in sdist if member.isfile()}
    return {_packed(path) for path in paths - AROUND}


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _digests(files: list[Path]) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def _problems(files: list[Path], again: list[Path]) -> list[str]:
    found = []
    for path in files:
        has, should = contents(path), tracked()
        found += [f"{path.name} lacks {name}" for name in sorted(should - has)]
        found += [f"{path.name} has {name}, which git does not track" for name in has - should]
    if _digests(files) != _digests(again):
        found.append("two builds differ")
    return found


def main() -> None:
    """Build twice, check, and print the digests. Raises SystemExit with the problems."""
    shutil.rmtree(DIST, ignore_errors=True)
    files = build(DIST)
    with tempfile.TemporaryDirectory(prefix="ojs-dist-") as other:
        problems = _problems(files, build(Path(other)))
    if problems:
        raise SystemExit("\n".join(problems))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    for name, digest in _digests(files).items():
        sys.stdout.write(f"{digest}  dist/{name}\n")


if __name__ == "__main__":
    main()
