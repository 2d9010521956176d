"""manage.py ojs_apikey, and the keys that stay valid after a rotation. Spec: contract 31.2."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from jobs.models import ApiKey, Audit
from jobs.services.access import api_keys
from tests.jobs.management.conftest import Manage
from tests.spec import spec


@pytest.fixture(autouse=True)
def _no_keys(store: None, settings: Any) -> Iterator[None]:
    """Require keys, and delete all keys after the test."""
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()
    yield
    ApiKey.objects.all().delete()
    api_keys.cache.clear()


def status(text: str) -> int:
    """Return the status of a request with this key."""
    headers = {"Authorization": f"Bearer {text}"}
    return Client().get("/ojs/v1/queues", headers=headers).status_code


def prefix_of(text: str) -> str:
    return text.split("_")[1]


@spec("contract 31.2")
def test_both_secrets_open_during_the_grace_and_the_new_one_after(manage: Manage) -> None:
    old = manage("ojs_apikey", "create", "ci", "--tenant", "north", "--expires-in", "90d").strip()
    before: dict[str, Any] = {**ApiKey.objects.values().get()}

    new = manage("ojs_apikey", "rotate", prefix_of(old)).strip()

    assert new != old
    assert (prefix_of(new), status(old), status(new)) == (prefix_of(old), 200, 200)
    assert "old secret until" in manage("ojs_apikey", "list")
    after: dict[str, Any] = {**ApiKey.objects.values().get()}
    changed = {name for name in after if after[name] != before[name]}
    assert changed - {"last_used_at"} == {"secret_hash", "previous_hash", "previous_valid_until"}
    left = after["previous_valid_until"] - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(days=1)

    ApiKey.objects.update(previous_valid_until=timezone.now())
    api_keys.cache.clear()
    assert (status(old), status(new)) == (401, 200)
    assert "old secret" not in manage("ojs_apikey", "list")


@spec("contract 31.2")
def test_the_grace_ends_while_the_key_is_remembered(
    manage: Manage, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = manage("ojs_apikey", "create", "ci").strip()
    manage("ojs_apikey", "rotate", prefix_of(old), "--grace", "PT1H")
    assert status(old) == 200
    later = timezone.now() + timedelta(hours=1)

    monkeypatch.setattr("jobs.api.access.access.timezone.now", lambda: later)

    assert status(old) == 401


@pytest.mark.parametrize("grace", ["PT0S", "0s"])
@spec("contract 31.2")
def test_without_grace_the_old_secret_ends_at_once(manage: Manage, grace: str) -> None:
    old = manage("createapikey", "ci").strip()

    new = manage("createapikey", "--rotate", prefix_of(old), "--grace", grace).strip()

    assert (status(old), status(new)) == (401, 200)


@spec("contract 31.2")
def test_a_second_rotation_ends_the_first_secret(manage: Manage) -> None:
    texts = [manage("ojs_apikey", "create", "ci").strip()]
    texts += [manage("ojs_apikey", "rotate", prefix_of(texts[0])).strip() for _ in range(2)]

    assert [status(text) for text in texts] == [401, 200, 200]


@spec("contract 31.2")
def test_revoking_ends_both_secrets(manage: Manage) -> None:
    old = manage("ojs_apikey", "create", "ci").strip()
    new = manage("ojs_apikey", "rotate", old[:14]).strip()

    manage("ojs_apikey", "revoke", prefix_of(old))

    assert (status(old), status(new)) == (401, 401)
    for verb in ("rotate", "revoke"):
        with pytest.raises(CommandError, match="no valid key has the prefix"):
            manage("ojs_apikey", verb, prefix_of(old))


@spec("contract 31.2")
def test_an_expired_key_is_not_rotated(manage: Manage) -> None:
    text = manage("ojs_apikey", "create", "ci", "--expires-in", "PT0S").strip()

    with pytest.raises(CommandError, match="no valid key"):
        manage("ojs_apikey", "rotate", prefix_of(text))
    assert ApiKey.objects.get().previous_hash is None


@pytest.mark.parametrize("grace", ["soon", "-1", ""])
def test_a_grace_that_is_none_is_refused(manage: Manage, grace: str) -> None:
    with pytest.raises(CommandError, match="--grace must be"):
        manage("ojs_apikey", "rotate", "abcdefgh", f"--grace={grace}")


@spec("contract 31.5")
def test_every_change_of_a_key_is_recorded_without_a_secret(manage: Manage) -> None:
    old = manage("ojs_apikey", "create", "ci", "--scopes", "worker").strip()
    new = manage("ojs_apikey", "rotate", prefix_of(old), "--grace", "PT2H").strip()
    manage("ojs_apikey", "revoke", prefix_of(old))

    found = list(Audit.objects.order_by("id").values("actor", "action", "target", "data"))
    shown = f"ojs_{prefix_of(old)}_…"
    assert [(one["actor"], one["action"], one["target"]) for one in found] == [
        ("manage.py", f"key.{verb}", shown) for verb in ("created", "rotated", "revoked")
    ]
    assert found[1]["data"] == {"grace_s": 7200}
    for text in (old, new):
        assert text.split("_", 2)[2] not in repr(found)
