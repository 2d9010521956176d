"""Read Markdown as far as the site needs it: fenced blocks, links, headings with their anchors."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

FENCE: Final = re.compile(r"^( *)```(.*)$")
SPAN: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
# the label may hold an image and code spans
LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\](?:\([^)]*\))?)*)\]\(([^()\s]+)\)")
HEADING: Final = re.compile(r"^#{1,6} +(.+?) *#*$")
EXPLICIT: Final = re.compile(r'<a (?:id|name)="([^"]+)"|\{#([\w-]+)\}')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the line of its fence, language, the rest of the info string, and text."""

    line: int
    language: str
    info: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link or an image outside of code."""

    is_image: bool
    label: str
    target: str


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page. Raises ValueError if the last fence is not closed."""
    found: list[Block] = []
    begin, info, lines = 0, "", list[str]()
    for n, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and begin:
            language, _, rest = info.partition(" ")
            found.append(Block(begin, language, rest.strip(), "\n".join([*lines, ""])))
            begin = 0
        elif fence:
            begin, info, lines = n, fence[2].strip(), []
        elif begin:
            lines.append(line)
    if begin:
        raise ValueError(f"line {begin}: the fence is not closed")
    return found


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """Split a page into text and fenced blocks; yields (is a block, lines)."""
    is_block, lines = False, list[str]()
    for line in text.splitlines(keepends=True):
        if FENCE.match(line):
            if is_block:
                yield True, "".join([*lines, line])
                lines = []
            else:
                yield False, "".join(lines)
                lines = [line]
            is_block = not is_block
        else:
            lines.append(line)
    yield is_block, "".join(lines)


def change_text(text: str, change: Callable[[str], str]) -> str:
    """Return a page with its text changed and its fenced blocks as they are."""
    return "".join(part if is_block else change(part) for is_block, part in parts(text))


def change_links(text: str, change: Callable[[Link], str]) -> str:
    """Return a page with each link outside of code replaced."""
    return change_text(text, lambda part: _change_links(part, change))


def _change_links(text: str, change: Callable[[Link], str]) -> str:
    """Replace the links of a text; a code span may be in a label, but no link is in a span."""
    hidden: list[str] = []

    def hide(span: re.Match[str]) -> str:
        hidden.append(span[0])
        return f"\0{len(hidden) - 1}\0"

    def show(part: str) -> str:
        return re.sub("\0(\\d+)\0", lambda mark: hidden[int(mark[1])], part)

    def replace(link: re.Match[str]) -> str:
        label = _change_links(link[2], change) if "](" in link[2] else link[2]
        return change(Link(bool(link[1]), label, link[3]))

    return show(LINK.sub(replace, SPAN.sub(hide, text)))


def links(text: str) -> list[Link]:
    """Return the links and images of a page."""
    found: list[Link] = []

    def collect(link: Link) -> str:
        found.append(link)
        return ""

    change_links(text, collect)
    return found


def headings(text: str) -> list[str]:
    """Return the headings of a page as written."""
    return [
        heading[1]
        for is_block, part in parts(text)
        if not is_block
        for heading in map(HEADING.match, part.splitlines())
        if heading
    ]


def title(text: str) -> str:
    """Return the first heading of a page."""
    return headings(text)[0]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page by GitHub's rule, which the site follows, too."""
    found: set[str] = {one or two for one, two in EXPLICIT.findall(text)}
    taken: Counter[str] = Counter()
    for heading in headings(text):
        slug = slugify(heading)
        found.add(f"{slug}-{taken[slug]}" if taken[slug] else slug)
        taken[slug] += 1
    return found


def slugify(heading: str) -> str:
    """Return the anchor of a heading: lower case, words and hyphens, a hyphen for each space."""
    plain = LINK.sub(r"\2", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
