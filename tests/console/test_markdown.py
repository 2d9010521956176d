"""Markdown of operators: its HTML is safe for any text."""

import re

import pytest

from console.markdown import plain, rendered

NOTE = """# Mail

The **mail team** owns [the relay](https://wiki.example.org).

1. `systemctl status relay`

| Symptom | Cause |
|---|---|
| `Smtp` | overload |

    uptime
"""
ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>a</a>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](file:///etc/passwd)",
    "[a](//evil.example/x)",
    "![a](https://evil.example/pixel.png)",
    "![a](javascript:alert(1))",
    '[a](https://example.org "x\\" onmouseover=\\"alert(1)")',
    "<javascript:alert(1)>",
    '```"><script>alert(1)</script>\nx\n```',
    "[a]: javascript:alert(1)\n\n[a]",
    "| <b onclick=x> |\n|---|\n| <svg/onload=alert(1)> |",
    "<style>*{display:none}</style>",
    "<!-- <script> -->",
)
TAG = re.compile(r"<(/?[a-z0-9]+)((?:\s[^<>]*)?)>")
KNOWN = {
    "p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "h3", "h4",
    "h5", "h6", "div", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTE = re.compile(r'\s([a-z-]+)="([^"]*)"')
ATTRIBUTES = {"href", "rel", "title", "class", "tabindex", "role", "aria-label", "start"}


@pytest.mark.parametrize("text", ATTACKS)
def test_the_html_has_known_tags_and_safe_links_only(text: str) -> None:
    html = str(rendered(text))

    assert html.count("<") == len(TAG.findall(html))
    for name, rest in TAG.findall(html):
        assert name.removeprefix("/") in KNOWN
        for attribute, value in ATTRIBUTE.findall(rest):
            assert attribute in ATTRIBUTES
            assert attribute != "href" or re.match(r"(https?:|mailto:|/[^/]|#)", value)
        assert ATTRIBUTE.sub("", rest).strip(" /") == ""


def test_usual_markdown_is_rendered() -> None:
    html = str(rendered("# Stop\n\n1. **Call** [ada](https://example.org)\n\n```\nx < y\n```\n"))

    assert "<h3>Stop</h3>" in html
    assert "<strong>Call</strong>" in html
    assert '<a href="https://example.org" rel="nofollow noopener noreferrer">ada</a>' in html
    assert '<pre tabindex="0"><code>x &lt; y\n</code></pre>' in html
    assert "<table>" in str(rendered("| a |\n|---|\n| b |"))


@pytest.mark.parametrize(
    "text", ["[" * 2000, "*" * 4000, "> " * 500 + "x", "`" * 3000, "a\n" * 9000]
)
def test_deep_markdown_ends(text: str) -> None:
    assert isinstance(str(rendered(text)), str)


def test_a_line_has_the_words_of_a_note_without_its_marks() -> None:
    assert plain(NOTE) == (
        "Mail The mail team owns the relay. systemctl status relay "
        "Symptom Cause Smtp overload uptime"
    )
    assert plain("") == ""
