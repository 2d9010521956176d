"""python -m tests.upgrade.freeze: record the migrations of a release, which must not change later.

Run it once when a release is tagged. It adds each migration that belongs to no release yet to
`released.json`.
"""

import json
from hashlib import sha256
from pathlib import Path

from jobs import VERSION

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASED = Path(__file__).resolve().parent / "data" / "released.json"


def released() -> dict[str, dict[str, str]]:
    """Return the hashes of the migrations of each release, by path."""
    found: dict[str, dict[str, str]] = json.loads(RELEASED.read_text())
    return found


def migrations() -> dict[str, str]:
    """Return the hashes of all current migrations, by path."""
    return {
        str(path.relative_to(ROOT)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(ROOT.glob("*/migrations/[0-9]*.py"))
    }


def main() -> None:
    """Add the unreleased migrations to the list."""
    known = released()
    old = {path for release, files in known.items() if release != VERSION for path in files}
    known[VERSION] = {path: made for path, made in migrations().items() if path not in old}
    RELEASED.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
