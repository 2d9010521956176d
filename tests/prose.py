"""Check the language of docstrings, comments, pages and texts, as ruff checks the code.

`python -m tests.prose` prints its findings and, for each top-level folder, the uses per 1,000 words
of words that hide the subject of a sentence. Comments of `.sql` files have rows of their own, and
so have the texts that users read: templates, and strings of three words or more. The exit status is
1 if a rate, a sentence or a line of a page is beyond its bound.

The words are bounded by rates, not forbidden, because each of them is right at times: an operator
is a person `who` acts, and a set of accepted values is `known`. Three rules keep the check from
pushing towards worse text:

- A span of code in backticks counts as one neutral word, and a block of code as none. So
  identifiers, wire names and words that a text is about are never uses.
- `one` is a use only as a pronoun: `the next one`, `one that waits`. As a number it is exact and
  free: `one statement`, `one of three`, `one by one`, `at most one`.
- A hyphen makes a new word: `well-known` is the term of RFC 8615 and no use of `known`.

A sentence ends at a full stop, a question mark, an exclamation mark or a colon. A colon introduces
a list or labels a definition, so the text after it is read by itself. A semicolon joins two ideas
and ends no sentence, except in the cell of a table, where it separates entries. Headings, items and
the cells of tables are prose: readers read them first.

Left out is text that the project cannot change: migrations and stored functions of releases, and
the sources of releases that the tests of upgrades use.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
ONE: Final = "one (pronoun)"
# by group: the uses per 1,000 words, at most, and the words
BOUNDS: Final = {
    "what": (5, {"what", "whatever"}),
    "those/one": (8, {"those", "ones", "others", ONE}),
    "who": (1, {"who", "whom", "whoever", "nobody", "somebody", "anybody", "everybody"}),
    "tell": (3, {
        "tell", "tells", "telling", "told", "say", "says", "saying", "said",
        "know", "knows", "knowing", "known", "knew",
    }),
}  # fmt: skip
MOST_WORDS: Final = 30  # of a sentence
WIDTH: Final = 100  # of a line of a page
FROZEN: Final = re.compile(r"/migrations/|^jobs/sql/functions/released/|^tests/upgrade/data/")
DIRECTIVE: Final = re.compile(r"(?:^!|^type:|^fmt:|^pragma:|^noqa:?|# noqa:?|# fmt:).*")
CODE: Final = re.compile(r"(`+).+?\1", re.DOTALL)
LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|<?https?://\S+")
ITEM: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
PROSE: Final = re.compile(r"[`(<]?[^\W\d]\S* +\S+ +\S", re.DOTALL)  # three words
STATEMENT: Final = re.compile(r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|SET|WITH|LOCK) ")
HIDDEN: Final = re.compile(
    r"<(script|style|pre)\b.*?</\1>|{% comment %}.*?{% endcomment %}|{#.*?#}|{% .*?%}|<!--.*?-->",
    re.DOTALL,
)
BRANCH: Final = re.compile(r"{% (?:if|elif|else|endif|for|empty|endfor)\b[^%]*%}")
VALUE: Final = re.compile(r"{{.*?}}|<(code|kbd)\b[^>]*>.*?</\1>", re.DOTALL)
ATTRIBUTE: Final = re.compile(r'\s(?:title|placeholder|aria-label|alt|data-question)="([^"]+)"')
INLINE: Final = re.compile(r"</?(?:a|abbr|b|em|i|small|span|strong|time)\b[^>]*>")
TAG: Final = re.compile(r"<[^>]*>")
END: Final = re.compile(r"""(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)["')*_]*(?:\s+|$)""")
# the word before makes it a number ("at most one"), the text after a pronoun ("one that waits")
PRONOUN: Final = re.compile(
    r"(?<!than )(?<!most )(?<!least )(?<!exactly )(?<!only )(?<!to )(?<!of )(?<!by )(?<!or )"
    r"\bone\b(?=\s*(?:[^\w\s(*-]|$)|\s+(?:that|which|who|whose|with|without|is|was|has|had|does|can"
    r"|cannot|could|may|must|will|would|should|needs|gets|stays)\b)",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A piece of prose, such as a paragraph or a sentence, and its first line.

    `kind` is `sql` for comments of statements and `texts` for texts that users read.
    """

    path: str
    line: int
    text: str
    kind: str = ""


# --- reading --------------------------------------------------------------------------------------


def prose() -> Iterator[Place]:
    """Yield all prose of the project."""
    for suffix, read in READ:
        for path, text in files(suffix):
            yield from read(path, text)


def files(suffix: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files under version control that can change."""
    done = subprocess.run(
        ["git", "ls-files", "-z", f"*{suffix}"],  # noqa: S607 - any git on the PATH
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for path in done.stdout.split("\0"):
        if path and not FROZEN.search(path) and (ROOT / path).is_file():
            yield path, (ROOT / path).read_text()


def of_python(path: str, text: str) -> Iterator[Place]:
    """Yield docstrings and comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            begin = node.body[0].lineno if node.body else 1
            lines = (ast.get_docstring(node) or "").splitlines()
            yield from paragraphs(path, enumerate(lines, begin))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    yield from of_comments(path, [(*token.start, token.string[1:]) for token in comments])


def of_sql(path: str, text: str) -> Iterator[Place]:
    """Yield comments."""
    marks = ((n, line.find("--"), line) for n, line in enumerate(text.splitlines(), 1))
    comments = [(n, at, line[at + 2 :]) for n, at, line in marks if at >= 0]
    yield from (place._replace(kind="sql") for place in of_comments(path, comments))


def of_strings(path: str, text: str) -> Iterator[Place]:
    """Yield the strings of an app that read like prose; `X` stands for each value in a string."""
    if path.startswith(("tests/", "bench/")):
        return
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if not isinstance(
                parents[node], ast.Expr | ast.JoinedStr | ast.FormattedValue
            ):
                parts = [value]
            case ast.JoinedStr(values=values) if not isinstance(parents[node], ast.FormattedValue):
                parts = [str(v.value) if isinstance(v, ast.Constant) else "X" for v in values]
            case _:
                continue
        string = "".join(parts)
        if PROSE.match(string) and not STATEMENT.match(string):
            yield Place(path, node.lineno, plain(string), "texts")


def of_template(path: str, text: str) -> Iterator[Place]:
    """Yield the texts between the tags of a template, and the texts of their attributes."""
    text = BRANCH.sub("<br>", text)
    text = HIDDEN.sub(lambda hidden: "\n" * hidden.group().count("\n"), text)
    text = VALUE.sub("X", text)
    for found in ATTRIBUTE.finditer(text):
        yield Place(path, text.count("\n", 0, found.start()) + 1, found[1], "texts")
    text = TAG.sub(lambda tag: "\n" * tag.group().count("\n") + "\0", INLINE.sub("", text))
    line = 1
    for part in text.split("\0"):
        if words(part):
            yield Place(path, line, " ".join(part.split()), "texts")
        line += part.count("\n")


def of_comments(path: str, comments: list[tuple[int, int, str]]) -> Iterator[Place]:
    """Yield paragraphs of comments, given as line, column and text.

    Comments on adjacent lines belong together if they begin at the same column.
    """
    lines: list[tuple[int, str]] = []
    before = (0, 0)
    for line, column, text in comments:
        if before != (line - 1, column):
            lines.append((line, ""))
        lines.append((line, DIRECTIVE.sub("", text.removeprefix(" "))))
        before = (line, column)
    yield from paragraphs(path, lines)


def of_page(path: str, text: str) -> Iterator[Place]:
    """Yield the prose of a Markdown page."""
    yield from paragraphs(path, enumerate(text.splitlines(), 1))


READ: Final = (
    (".py", of_python), (".py", of_strings), (".sql", of_sql), (".md", of_page),
    (".html", of_template),
)  # fmt: skip


def paragraphs(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[Place]:
    """Join lines of Markdown to paragraphs and items; a heading or a cell is one by itself."""
    begin, parts = 0, list[str]()
    for n, line in [*without_code(lines), (0, "")]:
        is_alone = line.startswith(("#", "|"))
        if parts and (is_alone or not line.strip() or ITEM.match(line)):
            yield Place(path, begin, plain(" ".join(parts)))
            parts = []
        if is_alone:
            yield from (Place(path, n, cell) for cell in plain(line).replace(";", ".").split("|"))
        elif line.strip():
            begin = begin if parts else n
            parts.append(ITEM.sub("", line).strip())


def without_code(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Empty the lines of code, which are fenced, or indented outside of a list."""
    is_fenced = is_listed = False
    for n, line in lines:
        is_fence = line.lstrip().startswith("```")
        is_fenced ^= is_fence
        if line[:1].strip():
            is_listed = ITEM.match(line) is not None
        is_code = is_fence or is_fenced or (line.startswith("    ") and not is_listed)
        yield n, "" if is_code else line


def plain(text: str) -> str:
    """Replace each span of code by a word, and each link by its words."""
    return LINK.sub(r"\1", CODE.sub("X", text))


# --- measuring ------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """Return the words of plain text in lower case, with pronouns `one` marked as such."""
    return [word.lower() for word in WORD.findall(text)] + [ONE] * len(PRONOUN.findall(text))


def sentences(text: str) -> list[str]:
    """Split a paragraph."""
    return [sentence for sentence in END.split(text) if sentence]


def row(place: Place) -> str:
    """Return the row of the table that counts a piece of prose."""
    folder = place.path.partition("/")[0] if "/" in place.path else "."
    return f"{folder} ({place.kind})" if place.kind else folder


def rates(places: Iterable[Place]) -> dict[str, dict[str, float]]:
    """Return the uses per 1,000 words by row and group of words."""
    totals: Counter[str] = Counter()
    uses: Counter[tuple[str, str]] = Counter()
    for place in places:
        for word in words(place.text):
            totals[row(place)] += word != ONE
            for group, (_, members) in BOUNDS.items():
                uses[row(place), group] += word in members
    return {
        name: {group: 1000 * uses[name, group] / total for group in BOUNDS}
        for name, total in sorted(totals.items())
        if total
    }


def long_sentences(places: Iterable[Place]) -> list[Place]:
    """Return the sentences that have too many words."""
    return [
        place._replace(text=sentence)
        for place in places
        for sentence in sentences(place.text)
        if sum(bool(re.search(r"\w", word)) for word in sentence.split()) > MOST_WORDS
    ]


def wide_lines(path: str, text: str) -> list[Place]:
    """Return the lines of a page that are too wide and could be broken.

    Tables, code blocks and headings cannot be broken, nor can a span of code or a link.
    """
    return [
        Place(path, n, line)
        for n, line in without_code(enumerate(text.splitlines(), 1))
        if len(line) > WIDTH
        and not line.startswith(("|", "#"))
        and " " in ITEM.sub("", LINK.sub("X", CODE.sub("X", line))).strip()
    ]


# --- reporting ------------------------------------------------------------------------------------


def findings(places: list[Place], pages: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each rate, sentence and line beyond its bound."""
    lines = [place for path, text in pages for place in wide_lines(path, text)]
    return [
        *(f"{p.path}:{p.line}: over {MOST_WORDS} words: {p.text}" for p in long_sentences(places)),
        *(f"{p.path}:{p.line}: over {WIDTH} columns" for p in lines),
        *(
            f"{name}: {rate:.1f} uses of {group} in 1,000 words; most: {most(places, name, group)}"
            for name, by_group in rates(places).items()
            for group, rate in by_group.items()
            if rate > BOUNDS[group][0]
        ),
    ]


def most(places: Iterable[Place], name: str, group: str) -> str:
    """Return the five files of a row with most uses of a group of words."""
    uses: Counter[str] = Counter()
    for place in places:
        if row(place) == name:
            uses[place.path] += sum(word in BOUNDS[group][1] for word in words(place.text))
    return ", ".join(f"{path} ({number})" for path, number in uses.most_common(5))


def table(places: Iterable[Place]) -> list[str]:
    """Return the rates of all rows below their bounds."""
    head = {group: f"{group} ≤{bound}" for group, (bound, _) in BOUNDS.items()}
    return [
        "  ".join([f"{'per 1,000 words':18}", *head.values()]),
        *(
            "  ".join([f"{name:18}", *(f"{by[g]:{len(text)}.1f}" for g, text in head.items())])
            for name, by in rates(places).items()
        ),
    ]


def main() -> int:
    """Print the table and, last, the findings; return 1 if there are findings."""
    places = list(prose())
    found = findings(places, files(".md"))
    print(*table(places), *found, sep="\n")  # noqa: T201 - the output of the command
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
