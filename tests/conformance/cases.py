"""The folder of the published conformance cases, which are not part of this project."""

import json
import os
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "OJS_CONFORMANCE_CASES"
BESIDE: Final = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "cases"
NONE: Final = (
    f"published conformance cases are left out, as none were found; {VARIABLE} names their folder"
    " (README, Conformance)"
)


def _folder() -> Path | None:
    chosen = os.environ.get(VARIABLE)
    if chosen and not Path(chosen).is_dir():
        raise NotADirectoryError(f"{VARIABLE} names no folder: {chosen}")
    if chosen:
        return Path(chosen).resolve()
    return BESIDE if BESIDE.is_dir() else None


FOLDER: Final = _folder()


def load() -> list[dict[str, Any]]:
    """Return the cases sorted by id; skip other JSON files."""
    found = []
    for path in sorted(FOLDER.rglob("*.json")) if FOLDER else ():
        case = json.loads(path.read_text())
        is_case = isinstance(case, dict) and "test_id" in case and "steps" in case
        if is_case:
            found.append(case)
    return sorted(found, key=lambda case: str(case["test_id"]))
