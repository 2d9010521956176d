"""Markdown of operators as HTML for pages.

HTML inside of the Markdown is shown as text. There are no images, and links lead to other pages of
this server or by http, https and mailto. Headings begin below those of the page.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

LINK: Final = re.compile(r"(?:https?://|mailto:|/(?!/)|#)", re.IGNORECASE)
LEVELS: Final = 2  # of headings of the page above those of the Markdown
LOWEST: Final = 6


def rendered(text: str) -> SafeString:
    """Return the HTML of Markdown, which is safe for any text."""
    html: SafeString = mark_safe(_MARKDOWN.render(text))  # noqa: S308 - HTML and unsafe links are text
    return html


def plain(text: str) -> str:
    """Return the words of Markdown, for a line of a table."""
    blocks = ("".join(map(_words, block.children or [block])) for block in _MARKDOWN.parse(text))
    return " ".join(" ".join(blocks).split())


def _words(part: Token) -> str:
    if part.type in {"text", "code_inline", "fence", "code_block"}:
        return part.content
    return " " if part.type in {"softbreak", "hardbreak"} else ""


def _made() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.validateLink = lambda url: bool(LINK.match(url))  # type: ignore[method-assign]
    for name in ("heading_open", "heading_close"):
        made.add_render_rule(name, _heading)
    made.add_render_rule("link_open", _link)
    for name in ("fence", "code_block"):
        made.add_render_rule(name, _code)
    made.add_render_rule("table_open", _table)
    made.add_render_rule("table_close", _table_end)
    return made


def _heading(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    level = min(LOWEST, int(tokens[n].tag[1:]) + LEVELS)
    return f"<h{level}>" if tokens[n].nesting == 1 else f"</h{level}>\n"


def _link(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    tokens[n].attrSet("rel", "nofollow noopener noreferrer")
    html: str = self.renderToken(tokens, n, options, env)
    return html


def _code(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    """Return a block that keys can scroll."""
    return f'<pre tabindex="0"><code>{escapeHtml(tokens[n].content)}</code></pre>\n'


def _table(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'


def _table_end(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


_MARKDOWN: Final = _made()
