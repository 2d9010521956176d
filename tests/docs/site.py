"""The built site, which `make docs` makes. Its tests are left out where it has not been built."""

from typing import Final

from docs.site import ROOT

FOLDER: Final = ROOT / ".manual" / "site"
NONE: Final = "tests of the built site are left out, as it is not there: make docs"


def is_built() -> bool:
    """Return whether the site is there."""
    return (FOLDER / "index.html").exists()
