"""System checks: what stops the start."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobs import checks, extensions
from jobs.conf import from_mapping


@pytest.fixture
def check(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that gives the messages for `settings.OJS`."""

    def run(**ojs: Any) -> list[str]:
        settings.OJS = ojs
        for module in (checks, extensions):
            monkeypatch.setattr(module, "conf", lambda: from_mapping(ojs))
        extensions.installed.cache_clear()
        return [f"{found.id}: {found.msg}" for found in checks.check_settings()]

    yield run
    extensions.installed.cache_clear()


def test_the_defaults_are_right(check: Any) -> None:
    assert check() == []


@pytest.mark.parametrize(
    ("ojs", "problem"),
    [
        ({"MAX_BATHC": 5}, "ojs.E001: OJS['MAX_BATHC'] is not a setting"),
        ({"AUTH": "open"}, "ojs.E002: OJS['AUTH'] is 'open': use apikey or off"),
        ({"AUTH": "off"}, "ojs.E003: OJS['AUTH'] is off: set ALLOW_INSECURE, or use API keys"),
        ({"EXTENSIONS": ["no.such.thing"]}, "ojs.E004: OJS['EXTENSIONS']: No module named 'no'"),
        (
            {"EXTENSIONS": ["collections.Counter"]},
            "ojs.E004: OJS['EXTENSIONS']: Counter is not a jobs.extensions.Extension",
        ),
        (
            {"DIRECT_DATABASE": "past"},
            "ojs.E005: OJS['DIRECT_DATABASE'] is 'past': no such database",
        ),
        ({"MAX_BATCH": 0}, "ojs.E006: OJS['MAX_BATCH'] is 0: use a positive number"),
        (
            {"WORKER_SILENCE_MS": "30"},
            "ojs.E006: OJS['WORKER_SILENCE_MS'] is '30': use a positive number",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_named(check: Any, ojs: dict[str, Any], problem: str) -> None:
    assert check(**ojs) == [problem]


def test_no_keys_are_fine_when_allowed_by_name(check: Any) -> None:
    assert check(AUTH="off", ALLOW_INSECURE=True) == []
