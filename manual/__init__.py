"""The documentation site: its pages, the reference that code generates, and the code blocks.

`python -m manual FOLDER` writes the pages of the site; `make docs` then builds the site from them.
"""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
