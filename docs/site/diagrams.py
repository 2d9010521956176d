"""Draw the diagrams of the manual, so that the site needs no script of others.

`python -m docs.site.diagrams MERMAID` draws each diagram that has no picture yet, and removes
pictures without a diagram. MERMAID is the file `dist/mermaid.min.js` of the npm package `mermaid`.
The pictures are named by the text of their diagram, and a test finds a diagram without its picture.
"""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from docs.site import DOCS, ROOT, markdown

PLACE: Final = "diagrams"
FOLDER: Final = DOCS / PLACE
SETTINGS: Final = (
    "mermaid.initialize({startOnLoad: false, theme: 'neutral', htmlLabels: false,"
    " flowchart: {htmlLabels: false}, fontFamily: 'sans-serif'})"
)
DRAW: Final = "async text => (await mermaid.render('diagram', text)).svg"


def name_of(text: str) -> str:
    """Return the file name of the picture of a diagram."""
    return f"{sha256(text.encode()).hexdigest()[:16]}.svg"


def all_diagrams() -> dict[str, str]:
    """Return the texts of all diagrams by the name of their picture."""
    return {
        name_of(block.text): block.text
        for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
        for block in markdown.blocks(page.read_text())
        if block.language == "mermaid"
    }


def draw(script: Path) -> None:
    """Draw the diagrams without a picture, and remove pictures without a diagram."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only here

    from tests import browser  # noqa: PLC0415 - only here

    wanted = all_diagrams()
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=["--no-sandbox"])
        page = chromium.new_page()
        page.set_content("<!doctype html><body></body>")
        page.add_script_tag(path=script)
        page.evaluate(SETTINGS)
        for name, text in wanted.items():
            if not (FOLDER / name).exists():
                (FOLDER / name).write_text(page.evaluate(DRAW, text))
        chromium.close()
    for path in FOLDER.iterdir():
        if path.name not in wanted:
            path.unlink()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
