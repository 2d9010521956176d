"""Readers of the environment."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from ojs_project import env


def test_text_of_a_missing_variable_is_the_default() -> None:
    assert env.text("OJS_NOWHERE") is None
    assert env.text("OJS_NOWHERE", "x") == "x"


def test_text_prefers_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("OJS_SOME", "from the variable")
    monkeypatch.setenv("OJS_SOME_FILE", str(tmp_path / "secret"))

    assert env.text("OJS_SOME") == "from the file"


def test_text_of_a_missing_file_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OJS_SOME_FILE", "/nowhere/secret")

    with pytest.raises(ImproperlyConfigured, match="OJS_SOME_FILE: /nowhere/secret"):
        env.text("OJS_SOME")


@pytest.mark.parametrize(
    ("raw", "value"),
    [("true", True), ("TRUE", True), ("1", True), ("on", True), ("yes", True), ("", False),
     ("false", False), ("0", False), ("Off", False), ("no", False)],
)  # fmt: skip
def test_flag_reads_both_answers(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setenv("OJS_SOME", raw)

    assert env.flag("OJS_SOME") is value


def test_flag_of_a_missing_variable_is_the_default() -> None:
    assert env.flag("OJS_NOWHERE") is False
    assert env.flag("OJS_NOWHERE", default=True) is True


def test_flag_of_anything_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OJS_SOME", "maybe")

    with pytest.raises(ImproperlyConfigured, match="OJS_SOME is 'maybe': use true or false"):
        env.flag("OJS_SOME")


@pytest.mark.parametrize("raw", ["some", "nan", "inf", ""])
def test_decimal_reads_numbers_and_refuses_others(
    monkeypatch: pytest.MonkeyPatch, raw: str
) -> None:
    assert env.decimal("OJS_SOME", 0.5) == 0.5
    monkeypatch.setenv("OJS_SOME", "0.25")
    assert env.decimal("OJS_SOME", 0.5) == 0.25
    monkeypatch.setenv("OJS_SOME", raw)
    with pytest.raises(ImproperlyConfigured, match=r"OJS_SOME is '.*': use a number"):
        env.decimal("OJS_SOME", 0.5)


def test_integer_reads_numbers_and_refuses_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.integer("OJS_SOME", 7) == 7
    monkeypatch.setenv("OJS_SOME", "250")
    assert env.integer("OJS_SOME", 7) == 250
    monkeypatch.setenv("OJS_SOME", "many")
    with pytest.raises(ImproperlyConfigured, match="OJS_SOME is 'many': use a whole number"):
        env.integer("OJS_SOME")


@pytest.mark.parametrize(
    ("raw", "value"), [("", ()), ("a", ("a",)), (" a, b ,,c", ("a", "b", "c"))]
)
def test_names_splits_at_commas(
    monkeypatch: pytest.MonkeyPatch, raw: str, value: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OJS_SOME", raw)

    assert env.names("OJS_SOME", ("default",)) == value


def test_every_kind_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "value").write_text("1\n")
    monkeypatch.setenv("OJS_SOME_FILE", str(tmp_path / "value"))

    assert env.integer("OJS_SOME", 7) == 1
    assert env.flag("OJS_SOME") is True
    assert env.names("OJS_SOME") == ("1",)


def test_names_of_a_missing_variable_are_the_default() -> None:
    assert env.names("OJS_NOWHERE", ("default",)) == ("default",)


def test_is_set_looks_for_the_file_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not env.is_set("OJS_SOME")
    monkeypatch.setenv("OJS_SOME_FILE", "/x")
    assert env.is_set("OJS_SOME")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://ann:s%40cret@db.example.org:6432/jobs",
            {"NAME": "jobs", "USER": "ann", "PASSWORD": "s@cret", "HOST": "db.example.org",
             "PORT": "6432", "OPTIONS": {}},
        ),
        (
            "postgres://ann@/jobs?host=/run/postgresql&port=5433&sslmode=require",
            {"NAME": "jobs", "USER": "ann", "PASSWORD": "", "HOST": "/run/postgresql",
             "PORT": "5433", "OPTIONS": {"sslmode": "require"}},
        ),
        (
            "postgresql://[::1]",
            {"NAME": "postgres", "USER": "", "PASSWORD": "", "HOST": "::1", "PORT": "",
             "OPTIONS": {}},
        ),
        (
            "postgresql://ann:s@h1:6432,h2:6433/jobs?target_session_attrs=read-write",
            {"NAME": "jobs", "HOST": "h1,h2", "PORT": "6432,6433", "PASSWORD": "s",
             "OPTIONS": {"target_session_attrs": "read-write"}},
        ),
        ("postgresql:///?service=jobs", {"NAME": "", "HOST": "", "OPTIONS": {"service": "jobs"}}),
        (
            "postgresql://ann@%2Frun%2Fpostgresql/jobs",
            {"NAME": "jobs", "HOST": "/run/postgresql", "PORT": "", "OPTIONS": {}},
        ),
    ],
    ids=["tcp", "socket", "short", "hosts", "service", "socket as host"],
)  # fmt: skip
def test_database_reads_urls(url: str, expected: dict[str, object]) -> None:
    found = env.database(url)

    assert {name: found[name] for name in expected} == expected
    assert found["ENGINE"] == "ojs_project.database"


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite:///x", "jobs", ""])
def test_database_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="must start with postgresql://"):
        env.database(url)


def test_a_choice_is_one_of_those_known_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.choice("OJS_NOWHERE", ("a", "B")) == "a"
    monkeypatch.setenv("OJS_SOME", "b")
    assert env.choice("OJS_SOME", ("a", "B")) == "B"

    monkeypatch.setenv("OJS_SOME", "c")
    with pytest.raises(ImproperlyConfigured, match="OJS_SOME is 'c': use one of a, B"):
        env.choice("OJS_SOME", ("a", "B"))


def test_database_of_a_wrong_url_names_no_secret() -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        env.database("postgresql://ann:s3cret@[::1/jobs")

    assert "DATABASE_URL cannot be read" in str(refused.value)
    assert "s3cret" not in str(refused.value)
