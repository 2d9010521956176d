"""Versions and ranges. Spec: job-versioning 5, 8.1, 15.1; contract 22.2."""

from typing import Any

import pytest

from ojs_tasks.ranges import GRAMMAR
from tests.spec import spec
from versioning.domain.version import Version, parse_range, parse_version, split_type


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("2.0", (2, 0)), ("2", (2, 0)), (2, (2, 0)), (0, (0, 0)), ("0.1", (0, 1)),
        ("1.10", (1, 10)), ("1.2.3", (1, 2)), ("999999999.999999999", (999999999, 999999999)),
    ],
)  # fmt: skip
@spec("VER-5.1-a")
def test_versions_are_major_and_minor(written: Any, version: tuple[int, int]) -> None:
    assert parse_version(written) == Version(*version)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("v2", "major part 'v2' is not a whole number"),
        ("02.1", "major part '02' has a leading zero"),
        ("2.01", "minor part '01' has a leading zero"),
        ("-1.0", "major part '-1'"), ("+1.0", "major part '+1'"), (-1, "major part '-1'"),
        ("2.0.0-rc", "patch part '0-rc'"), ("2.", "empty minor part"), (".1", "empty major part"),
        ("", "empty major part"), ("1.2.3.4", "has 4 parts"), (" 1.0", "major part ' 1'"),
        ("1.2.03", "patch part '03'"), ("٢.0", "is not a whole number"),
        ("1.x", "minor part 'x'"), (1.10, "number loses zeros"), (1e0, "number loses zeros"),
        (True, "must be text"), (None, "must be text"), (["1.0"], "must be text"),
        ("1234567890", "more than 9 digits"), (10**40, "more than 9 digits"),
        (-(10**40), "more than 9 digits"), ("x" * 5000, "…"),
    ],
)  # fmt: skip
@spec("VER-5.1-a")
def test_others_are_refused_with_the_part_that_is_wrong(written: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=r"must be|has an empty") as refused:
        parse_version(written)

    assert problem in str(refused.value)
    assert len(str(refused.value)) < 200


def test_versions_compare_by_number() -> None:
    assert parse_version("1.10") > parse_version("1.9")
    assert parse_version(2) == parse_version("2.0") == parse_version("2.0.7")
    assert str(parse_version("2")) == "2.0"


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("a.b@2.0", ("a.b", "2.0")), ("a.b", ("a.b", None)), ("a@b@1.0", ("a@b", "1.0")),
        ("a.b@", ("a.b", "")), ("@1.0", ("", "1.0")),
    ],
)  # fmt: skip
@spec("VER-5.3-a")
def test_types_are_split_at_the_last_separator(written: str, parts: tuple[str, str | None]) -> None:
    assert split_type(written) == parts


SEEN = [Version(0, 9), Version(1, 0), Version(1, 9), Version(1, 10), Version(2, 0), Version(3, 0)]


@pytest.mark.parametrize(
    ("written", "accepted"),
    [
        ("*", "0.9 1.0 1.9 1.10 2.0 3.0"),
        ("2.0", "2.0"), ("2", "2.0"), ("=2.0", "2.0"), ("= 2.0", "2.0"), ("2.0.5", "2.0"),
        (">=1.0 <3.0", "1.0 1.9 1.10 2.0"), (">=1.0, <3.0", "1.0 1.9 1.10 2.0"),
        (">=1.0,<3.0", "1.0 1.9 1.10 2.0"), (">= 1.0  ,  < 3.0", "1.0 1.9 1.10 2.0"),
        ("<3.0 >=1.0", "1.0 1.9 1.10 2.0"),
        (">=2.0", "2.0 3.0"), (">1.9", "1.10 2.0 3.0"), ("<=1.9", "0.9 1.0 1.9"),
        ("<1.0", "0.9"), (">=1.0 <2.0 >=1.9", "1.9 1.10"), (" 1.0 ", "1.0"),
    ],
)  # fmt: skip
@spec("VER-8.1-b")
def test_ranges_accept_what_their_constraints_allow(written: str, accepted: str) -> None:
    found = parse_range(written)

    assert [str(version) for version in SEEN if version in found] == accepted.split()


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("^1.0", "constraint '^1.0'"), ("~1.0", "constraint '~1.0'"),
        ("!=1.0", "constraint '!=1.0'"), (">=1.0 || <0.5", "constraint '||'"),
        ("2.x", "its minor part 'x'"), (">=1.0<3.0", "constraint '>=1.0<3.0'"),
        (">=2.0, <1.0", "accepts no version"), (">1.0 <1.1", "accepts no version"),
        ("<0.0", "accepts no version"), ("1.0 2.0", "accepts no version"),
        ("* <2.0", "'*' stands alone"), (">=1.0,", "empty constraint"), (",", "empty constraint"),
        (">=1.0,,<2.0", "empty constraint"), ("", 'must be text such as "*"'),
        (">=", "constraint '>='"), (2, "must be text such as"), (None, "must be text such as"),
        ("=>1.0", "constraint '=>1.0'"), ("9" * 300, "at most 256 characters"),
        (">=1.0\n<2.0", "constraint"),
    ],
)  # fmt: skip
@spec("VER-15.1-a")
def test_other_ranges_are_refused_with_what_is_wrong(written: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse_range(written)

    assert problem in str(refused.value)


@spec("VER-7.2-b")
def test_a_range_spans_majors_only_where_it_says_so() -> None:
    assert Version(2, 0) not in parse_range(">=1.0, <2.0")
    assert Version(2, 0) in parse_range(">=1.0")


@pytest.mark.parametrize(
    "written", ["*", " * ", "2.0", "= 2.0", ">=1.0 <3.0", ">= 1.0  ,  < 3.0", ">=1.0,<3.0", " 1 "]
)
def test_the_grammar_of_the_documents_has_what_is_read(written: str) -> None:
    parse_range(written)

    assert GRAMMAR.fullmatch(written)


@pytest.mark.parametrize("written", ["", ">=1.0<3.0", "^1.0", "2.x", "* 1.0", "01", ">=1.0,", "v1"])
def test_the_grammar_of_the_documents_has_nothing_else(written: str) -> None:
    assert GRAMMAR.fullmatch(written) is None
