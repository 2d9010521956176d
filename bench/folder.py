"""The folder of a measurement: new, and removed at its end."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def work_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a folder in `parent`, by default that of the system, and remove it at the end."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
