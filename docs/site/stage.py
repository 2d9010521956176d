"""Write the pages of the site into a folder: the manual, pages of the root, generated pages.

The pages in the repository are written for a reader of the repository. Three things differ on the
site:

- A link to a file that is no page, such as a test, becomes its path.
- A diagram is a picture that was drawn before, so the site needs no script of others.
- The class of a block is invisible. Its title says what a reader does with the block.
"""

import os
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from docs.site import DOCS, ROOT, diagrams, markdown, reference, titles
from docs.site.markdown import Link

# pages of the root, and their place on the site
ROOT_PAGES: Final = ("README", "CHANGELOG", "CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY")
PROJECT: Final = {f"{name}.md": f"project/{name.lower()}.md" for name in ROOT_PAGES}
FOREIGN: Final = re.compile(r"[a-z]+:")
INFO: Final = re.compile(r"^( *```\S+) .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the repository and its path on the site."""

    source: Path
    place: str


def pages() -> list[Page]:
    """Return the pages of the repository that are on the site."""
    manual = [Page(path, path.relative_to(DOCS).as_posix()) for path in sorted(DOCS.rglob("*.md"))]
    return [*manual, *(Page(ROOT / name, place) for name, place in PROJECT.items())]


def stage(folder: Path) -> None:
    """Write all pages, pictures and diagrams; the folder holds nothing else afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    found = pages()
    places = {page.source: page.place for page in found}
    places |= {path: path.relative_to(DOCS).as_posix() for path in files()}
    for source, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(on_site(source.read_text(), source, places))
        else:
            shutil.copyfile(source, target)
    for place, text in reference.pages().items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)


def files() -> list[Path]:
    """Return the files of the manual that are no pages: pictures, diagrams and styles."""
    return [
        path
        for path in sorted(DOCS.rglob("*"))
        if path.is_file() and path.suffix not in {".md", ".py", ".pyc"}
    ]


def on_site(text: str, source: Path, places: dict[Path, str]) -> str:
    """Return a page as the site shows it."""
    up = os.path.relpath(".", Path(places[source]).parent)
    text = markdown.change_links(text, partial(_link, source=source, places=places))
    return "".join(
        _block(part, up) if is_block else part for is_block, part in markdown.parts(text)
    )


def _block(block: str, up: str) -> str:
    if block.lstrip().startswith("```mermaid"):
        (diagram,) = markdown.blocks(block)
        name = diagrams.name_of(diagram.text)
        return f"![Diagram]({up}/{diagrams.PLACE}/{name}){{.diagram}}\n"
    (only,) = markdown.blocks(block)
    title = titles.title_of(only)
    return INFO.sub(rf'\1 title="{title}"' if title else r"\1", block, count=1)


def _link(link: Link, *, source: Path, places: dict[Path, str]) -> str:
    mark = "!" if link.is_image else ""
    path, _, anchor = link.target.partition("#")
    if not path or FOREIGN.match(link.target):
        return f"{mark}[{link.label}]({link.target})"
    target = Path(os.path.normpath(source.parent / path))
    place = places.get(target) or _index(target, places)
    if place is None:
        return _as_path(link.label, target, anchor)
    there = os.path.relpath(place, Path(places[source]).parent)
    return f"{mark}[{link.label}]({there}{'#' if anchor else ''}{anchor})"


def _index(target: Path, places: dict[Path, str]) -> str | None:
    """Return the page of a folder, if it has one."""
    for name in ("index.md", "00-index.md"):
        if place := places.get(target / name):
            return place
    return None


def _as_path(label: str, target: Path, name: str) -> str:
    """Return the path of a file in the repository, behind the words of its link.

    A link to a function in the file becomes a word that shows path and function on demand.
    """
    path = target.relative_to(ROOT).as_posix()
    if name:
        return f'<abbr title="{path}, {name}">{label}</abbr>'
    return f"`{path}`" if label.strip("`") in path else f"{label} (`{path}`)"
