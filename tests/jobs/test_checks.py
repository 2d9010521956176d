"""System checks that prevent the start."""

from typing import Any

import pytest

from jobs import checks


@pytest.fixture
def check(settings: Any) -> Any:
    """Return a function that gives the messages for `settings.OJS`."""

    def run(**ojs: Any) -> list[str]:
        settings.OJS = ojs
        return [f"{found.id}: {found.msg}" for found in checks.check_settings()]

    return run


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
            {"TRUSTED_PROXIES": ("10.0.0.1/8",)},
            "ojs.E020: OJS['TRUSTED_PROXIES']: 10.0.0.1/8 has host bits set",
        ),
        (
            {"TLS_SUBJECT_HEADER": "X-Subject"},
            "ojs.E021: OJS['TLS_SUBJECT_HEADER'] has no effect: set TRUSTED_PROXIES, too",
        ),
        (
            {"APIKEY_HASHER": "md5"},
            "ojs.E024: OJS['APIKEY_HASHER'] is 'md5': use one of sha256, argon2, scrypt",
        ),
        (
            {"DEFAULT_ON_EXHAUSTION": "keep"},
            "ojs.E023: OJS['DEFAULT_ON_EXHAUSTION'] is 'keep': use discard or dead_letter",
        ),
        ({"LOG_SAMPLE": 2}, "ojs.E025: OJS['LOG_SAMPLE'] is 2: use a number from 0 to 1"),
        ({"LOG_SAMPLE": "0"}, "ojs.E025: OJS['LOG_SAMPLE'] is '0': use a number from 0 to 1"),
        ({"MAX_BATCH": 0}, "ojs.E006: OJS['MAX_BATCH'] is 0: use a positive number"),
        (
            {"WORKER_SILENCE_MS": "30"},
            "ojs.E006: OJS['WORKER_SILENCE_MS'] is '30': use a positive number",
        ),
        (
            {"RETENTION_EVENT_ROWS": -1},
            "ojs.E006: OJS['RETENTION_EVENT_ROWS'] is -1: use a positive number",
        ),
        (
            {"RETENTION_COMPLETED": "7 days"},
            "ojs.E010: OJS['RETENTION_COMPLETED'] is '7 days': use a duration such as P7D, or 0",
        ),
        (
            {"RETENTION_DEAD_LETTER": "0", "RETENTION_DEAD_LETTER_JOBS": 0},
            "ojs.E011: OJS['RETENTION_DEAD_LETTER'] and OJS['RETENTION_DEAD_LETTER_JOBS'] are both"
            " 0: the dead letter must be bounded",
        ),
        (
            {"PRUNING_POLICY": "keep"},
            "ojs.E012: OJS['PRUNING_POLICY'] is 'keep': use delete or archive",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_named(check: Any, ojs: dict[str, Any], problem: str) -> None:
    assert check(**ojs) == [problem]


def test_no_keys_are_fine_when_allowed_by_name(check: Any) -> None:
    assert check(AUTH="off", ALLOW_INSECURE=True) == []


def test_retention_may_be_without_bound(check: Any) -> None:
    ages = ("COMPLETED", "CANCELLED", "DISCARDED", "EVENTS", "MINUTES")
    unbounded = {f"RETENTION_{age}": "0" for age in ages}

    assert check(**unbounded, RETENTION_EVENT_ROWS=0, RETENTION_DEAD_LETTER_JOBS=0) == []


def test_a_door_that_is_not_in_the_chain_is_named(check: Any, settings: Any) -> None:
    settings.MIDDLEWARE = []

    assert check(REQUIRE_TLS=True) == [
        "ojs.E022: OJS['REQUIRE_TLS'] and ['TRUSTED_PROXIES'] need jobs.api.transport.Transport in"
        " MIDDLEWARE"
    ]
