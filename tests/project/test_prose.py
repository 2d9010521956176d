"""The check of the language finds each kind of finding, and counts only prose."""

import subprocess
from pathlib import Path

import pytest

from tests import prose
from tests.prose import Place

LONG = " ".join(["word"] * 31)


def texts(places: list[Place]) -> list[str]:
    """Return the texts of places that have any."""
    return [place.text for place in places if place.text.strip()]


def rate(text: str, group: str, path: str = "jobs/a.py") -> float:
    """Return the uses of a group of words in 1,000 words of a text."""
    (by_group,) = prose.rates([Place(path, 1, prose.plain(text))]).values()
    return by_group[group]


# --- reading --------------------------------------------------------------------------------------


def test_docstrings_and_comments_of_python_are_prose() -> None:
    source = (
        '"""The module.\n\nIts second paragraph\nhas two lines.\n"""\n'
        "# a comment\n# of two lines\n"
        "def f() -> str:\n"
        '    """The function."""\n'
        '    return "no prose"  # an aside\n'
    )

    assert list(prose.of_python("a.py", source)) == [
        Place("a.py", 1, "The module."),
        Place("a.py", 3, "Its second paragraph has two lines."),
        Place("a.py", 9, "The function."),
        Place("a.py", 6, "a comment of two lines"),
        Place("a.py", 10, "an aside"),
    ]


def test_asides_of_adjacent_lines_are_apart() -> None:
    source = "a = 1  # the first\nbc = 2  # the second\n# the third\n"

    assert texts(list(prose.of_python("a.py", source))) == ["the first", "the second", "the third"]


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("#!/usr/bin/env python", ""),
        ("# noqa: S607", ""),
        ("# noqa: S607 - any git", ""),
        ("# type: ignore[misc]", ""),
        ("# fmt: skip", ""),
        ("# why  # noqa: S607", "why"),
        ("# the type: a name!", "the type: a name!"),
    ],
)
def test_directives_are_no_prose(comment: str, text: str) -> None:
    assert texts(list(prose.of_python("a.py", comment))) == [text] * bool(text)


def test_comments_of_sql_are_prose() -> None:
    statement = "-- find: read a row.\n-- Locks: none.\nSELECT 1  -- the number\n  FROM a;\n"

    assert list(prose.of_sql("a.sql", statement)) == [
        Place("a.sql", 1, "find: read a row. Locks: none.", "sql"),
        Place("a.sql", 3, "the number", "sql"),
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('a = "must be a number"', "must be a number"),
        ('a = f"at most {n} jobs of {queue!r}"', "at most X jobs of X"),
        ('a = ("must be"\n     " a number")', "must be a number"),
        ('a = "`args` must be a list"', "X must be a list"),
        ('def f():\n    """A text of docs."""', None),
        ('a = "two words"', None),
        ('a = "/an/url with three parts"', None),
        ('a = "SELECT 1 FROM a"', None),
    ],
)
def test_strings_of_three_words_are_texts(source: str, found: str | None) -> None:
    places = [Place("jobs/a.py", 1, found, "texts")] if found else []

    assert list(prose.of_strings("jobs/a.py", source)) == places
    assert list(prose.of_strings("tests/a.py", source)) == []


def test_texts_of_a_template_are_between_its_tags_and_in_attributes() -> None:
    template = (
        '{# who #}<h1 title="The title">Jobs of {{ queue }}</h1>\n<script>what\n</script>\n'
        '<p class="who">Run <code>tell</code>, <a href="/who">then</a> wait.</p>{% if who %}\n'
    )

    assert list(prose.of_template("a.html", template)) == [
        Place("a.html", 1, "The title", "texts"),
        Place("a.html", 1, "Jobs of X", "texts"),
        Place("a.html", 4, "Run X, then wait.", "texts"),
    ]


def test_headings_paragraphs_items_and_cells_of_a_page_are_prose() -> None:
    page = (
        "# A heading\nA paragraph\nof two lines.\n- an item\n  of two lines\n    and a third\n"
        "2. another\n\n| cell | next; entry |\n|---|---|\n"
    )

    assert [text.strip() for text in texts(list(prose.of_page("a.md", page)))] == [
        "# A heading", "A paragraph of two lines.", "an item of two lines and a third", "another",
        "cell", "next. entry", "---", "---",
    ]  # fmt: skip


def test_code_of_a_page_is_no_prose() -> None:
    page = "Run this:\n\n```sh\nwhat\n```\n\n    those\n\nThen `tell who` and [say](what.md).\n"

    assert texts(list(prose.of_page("a.md", page))) == ["Run this:", "Then X and say."]


def test_a_number_at_the_end_of_a_sentence_is_no_item() -> None:
    assert texts(list(prose.of_page("a.md", "It has 5,000. It\nhas 6."))) == [
        "It has 5,000. It has 6."
    ]


def test_files_of_the_project_are_read_and_frozen_files_left_out() -> None:
    found = {path for suffix in (".py", ".sql", ".md", ".html") for path, _ in prose.files(suffix)}
    done = subprocess.run(
        ["git", "ls-files", "*.py", "*.sql", "*.md", "*.html"],  # noqa: S607 - any git on the PATH
        cwd=prose.ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    left_out = {path for path in done.stdout.split() if Path(prose.ROOT / path).is_file()} - found

    assert {"README.md", "docs/index.md", "jobs/models/lanes.py"} <= found
    assert "jobs/migrations/__init__.py" in left_out
    assert {path for path in left_out if not prose.FROZEN.search(path)} == set()


# --- counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("what", "What it does"),
        ("those/one", "Those it has"),
        ("those/one", "The others wait"),
        ("who", "Nobody gets it"),
        ("tell", "Tells them apart"),
    ],
)
def test_each_group_of_words_is_counted_without_case(group: str, text: str) -> None:
    assert rate(text, group) == pytest.approx(1000 / 3)


@pytest.mark.parametrize(
    "text",
    [
        "the next one", "This one.", "the last one, if any", "One that waits", "one is free",
        "a job without one; it waits", "(not this one)",
    ],
)  # fmt: skip
def test_one_is_a_use_as_a_pronoun(text: str) -> None:
    assert prose.words(text).count(prose.ONE) == 1


@pytest.mark.parametrize(
    "text",
    [
        "one statement", "one of three", "one by one", "at most one.", "more than one,",
        "exactly one", "raised by one.", "one (the first)", "one-way", "one `job`", "one *new* job",
        "from zero to one.", "one or more",
    ],
)  # fmt: skip
def test_one_is_no_use_as_a_number(text: str) -> None:
    assert prose.ONE not in prose.words(prose.plain(text))


@pytest.mark.parametrize("text", ["a well-known path", "unknown", "`known`", "somewhat", "`what`"])
def test_terms_and_code_are_no_uses(text: str) -> None:
    assert [rate(text, group) for group in prose.BOUNDS] == [0, 0, 0, 0]


def test_a_pronoun_is_no_second_word_of_the_total() -> None:
    assert rate("the next one", "those/one") == pytest.approx(1000 / 3)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Place("README.md", 1, "text"), "."),
        (Place("jobs/a/b.py", 1, "text"), "jobs"),
        (Place("jobs/a/b.sql", 1, "text", "sql"), "jobs (sql)"),
        (Place("jobs/a/b.py", 1, "text", "texts"), "jobs (texts)"),
    ],
)
def test_rates_are_by_folder_and_kind(place: Place, name: str) -> None:
    assert set(prose.rates([place])) == {name}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two? Three! Four: five", ["One.", "Two?", "Three!", "Four:", "five"]),
        ("One; two", ["One; two"]),
        ("(One.) Two", ["(One.", "Two"]),
        ("A name, e.g. `a.b`, i.e. 1.5 of 9:30", ["A name, e.g. `a.b`, i.e. 1.5 of 9:30"]),
    ],
)
def test_sentences_end_at_full_stops_and_colons(text: str, parts: list[str]) -> None:
    assert prose.sentences(text) == parts


# --- findings -------------------------------------------------------------------------------------


def findings(text: str, path: str = "docs/a.md") -> list[str]:
    """Return the findings in a page."""
    return prose.findings(list(prose.of_page(path, text)), [(path, text)])


def test_a_sentence_beyond_the_bound_is_found() -> None:
    first, rest = LONG[:79], LONG[80:]

    assert findings(f"{first}\n{rest.removesuffix(' word')}.\nword") == []
    assert findings(f"# A title\n\nWord. {first}\n{rest}.") == [
        f"docs/a.md:3: over 30 words: {first} {rest}."
    ]


def test_marks_are_no_words_of_a_sentence() -> None:
    assert prose.long_sentences([Place("a.md", 1, LONG.replace("word", "->", 1))]) == []


def test_a_line_of_a_page_beyond_the_bound_is_found() -> None:
    assert findings("a" * 50 + " " + "b" * 49) == []
    assert findings("\n" + "a" * 50 + " " + "b" * 50) == ["docs/a.md:2: over 100 columns"]
    assert findings("- " + "a" * 50 + " " + "b" * 50) == ["docs/a.md:1: over 100 columns"]


@pytest.mark.parametrize(
    "line",
    [
        "| cell | {} |", "# {}", "    {}", "```\n{}\n```", "- [link]({})", "![a picture]({})",
        "`{}`", "https://openjobspec.org/{}",
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_broken_may_be_wide(line: str) -> None:
    text = line.format("a" * 50 + (" " if "http" not in line else "/") + "b" * 50)

    assert prose.wide_lines("docs/a.md", text) == []


@pytest.mark.parametrize(
    ("group", "word"),
    [("what", "what"), ("those/one", "those"), ("who", "nobody"), ("tell", "said")],
)
def test_a_rate_beyond_the_bound_is_found_with_its_files(group: str, word: str) -> None:
    bound, _ = prose.BOUNDS[group]
    places = [Place("jobs/a.py", 1, f"{word}. " * bound), Place("jobs/b.py", 1, "text. " * 1000)]

    assert prose.findings([*places, places[1]], []) == []
    assert prose.findings([*places, places[0]], []) == [
        f"jobs: {2000 * bound / (1000 + 2 * bound):.1f} uses of {group} in 1,000 words; "
        f"most: jobs/a.py ({2 * bound}), jobs/b.py (0)"
    ]


@pytest.mark.parametrize(("text", "status"), [("A job.", 0), (LONG, 1), ("What is it?", 1)])
def test_the_command_prints_a_table_and_fails_with_findings(
    text: str,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(prose, "files", lambda suffix: [("docs/a.md", text)][: suffix == ".md"])

    assert prose.main() == status

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 + status
    assert lines[0].split()[:5] == ["per", "1,000", "words", "what", "≤5"]
    assert lines[1].startswith("docs")
