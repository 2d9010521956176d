"""The documentation site: its pages, the reference that code generates, and the code blocks.

`python -m docs.site FOLDER` writes the pages of the site; `make docs` then builds the site from
them.
"""

from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parent.parent
ROOT: Final = DOCS.parent
