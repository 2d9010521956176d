"""manage.py createapikey."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.utils import timezone

from jobs.domain.access import hashers, keys
from jobs.models import ApiKey
from jobs.services.access import api_keys
from tests.jobs.management.conftest import Manage


@pytest.fixture(autouse=True)
def _no_keys(store: None) -> Iterator[None]:
    """Delete all keys after the test."""
    yield
    ApiKey.objects.all().delete()
    api_keys.cache.clear()


def test_a_key_is_printed_once_and_only_its_hash_is_kept(manage: Manage) -> None:
    text = manage("createapikey", "ci", "--scopes", "producer").strip()

    prefix, secret = keys.split(text) or ("", "")
    stored = ApiKey.objects.get()
    assert (stored.name, stored.prefix, stored.scopes) == ("ci", prefix, ["ojs:data:enqueue"])
    assert hashers.matches(secret, bytes(stored.secret_hash))
    assert secret not in manage("createapikey", "--list")


def test_a_key_without_scopes_may_do_everything(manage: Manage) -> None:
    manage("createapikey", "root")

    assert set(ApiKey.objects.get().scopes) == keys.SCOPES


def test_every_limit_is_stored(manage: Manage) -> None:
    manage(
        "createapikey", "ci", "--scopes", "ojs:data:enqueue, worker", "--tenant", "north",
        "--queues-enqueue", "mail,billing-*", "--queues-fetch", "mail", "--job-types", "mail.*",
        "--expires-in", "P90D", "--pool", "fast", "--region", "eu-west",
    )  # fmt: skip

    stored = ApiKey.objects.get()
    assert stored.scopes == ["ojs:data:enqueue", "ojs:data:fetch"]
    assert (stored.tenant, stored.queues_enqueue) == ("north", ["mail", "billing-*"])
    assert stored.region == "eu-west"
    assert "region eu-west" in manage("createapikey", "--list")
    assert (stored.queues_fetch, stored.job_types) == (["mail"], ["mail.*"])
    assert stored.pool == "fast"
    assert "pool fast" in manage("createapikey", "--list")
    assert stored.expires_at is not None
    days = stored.expires_at - timezone.now()
    assert timedelta(days=89) < days <= timedelta(days=90)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "name the key"),
        (("ci", "--pool", "a b"), "'a b' is not the name of a pool"),
        (("ci", "--scopes", "boss"), "'boss' is neither a scope nor a role"),
        (("ci", "--expires-in", "tomorrow"), "--expires-in must be a duration such as PT30S"),
        (("--revoke", "ab12cd34"), "no valid key has the prefix ab12cd34"),
        (("--revoke", "what"), "no valid key has the prefix what"),
    ],
)
def test_what_cannot_be_is_refused(
    manage: Manage, arguments: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem):
        manage("createapikey", *arguments)

    assert not ApiKey.objects.exists()


def test_a_key_without_time_to_live_is_no_key_for_ever(manage: Manage) -> None:
    manage("createapikey", "ci", "--expires-in", "PT0S")

    assert "expired" in manage("createapikey", "--list")


@pytest.mark.parametrize("form", ["{0}", "ojs_{0}_…", "ojs_{0}"])
def test_a_key_is_revoked_by_its_prefix_as_listed(manage: Manage, form: str) -> None:
    text = manage("createapikey", "ci").strip()
    prefix, _ = keys.split(text) or ("", "")

    assert manage("createapikey", "--revoke", form.format(prefix)) == f"revoked ojs_{prefix}_…\n"

    known = api_keys.cache.get(prefix)
    assert known is not None
    assert known.why_not == "key_revoked"
    with pytest.raises(CommandError):
        manage("createapikey", "--revoke", prefix)


def test_the_list_shows_what_each_key_is_good_for(manage: Manage) -> None:
    for name in ("good", "old", "gone"):
        manage("createapikey", name, "--scopes", "worker", "--tenant", "north")
    ApiKey.objects.filter(name="old").update(expires_at=timezone.now() - timedelta(days=1))
    ApiKey.objects.filter(name="gone").update(revoked_at=timezone.now())

    lines = manage("createapikey", "--list").splitlines()

    shown = {line.split()[2]: line.split()[1] for line in lines}
    assert shown == {"good": "valid", "old": "expired", "gone": "revoked"}
    assert "scopes ojs:data:fetch  tenant north  pool -  region -  used never" in lines[0]


def test_a_region_that_no_region_is_called_is_refused(manage: Manage) -> None:
    with pytest.raises(CommandError, match="not the id of a region"):
        manage("createapikey", "ci", "--region", "Eu West")
