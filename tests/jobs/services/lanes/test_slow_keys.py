"""Keys under slow hashes: checked once a minute, next to keys under other hashes.

Spec: contract 31.2.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from jobs.domain.access import hashers
from jobs.models import ApiKey
from jobs.services.access import api_keys, verified
from tests.spec import spec

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_verified() -> Iterator[None]:
    """Forget verified secrets, before and after the test."""
    verified.clear_cache()
    yield
    verified.clear_cache()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list of stored hashes that secrets are compared with, in order."""
    seen: list[bytes] = []
    compare = hashers.matches

    def counting(secret: str, stored: bytes) -> bool:
        seen.append(stored)
        return compare(secret, stored)

    monkeypatch.setattr(hashers, "matches", counting)
    return seen


def made(settings: Any, hasher: str) -> tuple[str, str]:
    """Make a key; return its prefix and its text."""
    settings.OJS = {**settings.OJS, "AUTH": "apikey", "APIKEY_HASHER": hasher}
    key, text = api_keys.create(api_keys.NewKey("k", ("operator",)))
    return key.prefix, text


def ask(text: str) -> int:
    return Client().get("/ojs/v1/queues", headers={"X-API-Key": text}).status_code


@pytest.mark.parametrize("hasher", ["argon2", "scrypt"])
@spec("contract 31.2")
def test_a_slow_hash_runs_once_a_minute_for_a_secret(
    settings: Any, checks: list[bytes], monkeypatch: pytest.MonkeyPatch, hasher: str
) -> None:
    _, text = made(settings, hasher)

    assert [ask(text) for _ in range(5)] == [200] * 5
    assert len(checks) == 1

    monkeypatch.setattr(verified, "KEPT_S", 0.0)
    verified.clear_cache()
    assert [ask(text), ask(text)] == [200, 200]
    assert len(checks) == 3


@spec("contract 31.2")
def test_what_does_not_match_is_checked_each_time(settings: Any, checks: list[bytes]) -> None:
    _, text = made(settings, "scrypt")
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")

    assert [ask(wrong), ask(wrong), ask(text), ask(wrong)] == [401, 401, 200, 401]
    assert len(checks) == 4


@spec("contract 31.2")
def test_a_revoked_key_opens_nothing_though_its_secret_is_remembered(settings: Any) -> None:
    prefix, text = made(settings, "argon2")
    assert ask(text) == 200

    api_keys.revoke(prefix)

    assert ask(text) == 401


@spec("contract 31.2")
def test_keys_from_before_the_setting_stay_and_rotation_moves_them(settings: Any) -> None:
    prefix, old = made(settings, "sha256")
    settings.OJS = {**settings.OJS, "APIKEY_HASHER": "argon2"}
    assert ask(old) == 200

    renewed = api_keys.rotate(prefix, timedelta(hours=1))

    assert renewed is not None
    assert hashers.is_slow(bytes(ApiKey.objects.get(prefix=prefix).secret_hash))
    assert (ask(renewed), ask(old)) == (200, 200)  # the old key stays valid for an hour


@spec("contract 31.2")
def test_the_secrets_remembered_are_bounded(
    settings: Any, monkeypatch: pytest.MonkeyPatch, checks: list[bytes]
) -> None:
    monkeypatch.setattr(verified, "MOST", 1)
    _, first = made(settings, "scrypt")
    _, second = made(settings, "scrypt")

    assert [ask(first), ask(second), ask(first)] == [200] * 3
    assert len(checks) == 3
