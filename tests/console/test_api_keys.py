"""API keys in the console: created, rotated and revoked; a secret is shown once."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from jobs.domain.access.caller import Caller
from jobs.models import ApiKey, Audit
from jobs.services.access.api_keys import NewKey, cache, create
from tests.console.conftest import WAIT_MS, answer
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import text, url

expect.set_options(timeout=WAIT_MS)
SECRET = re.compile(r"ojs_[a-z0-9]{8}_[A-Za-z0-9_-]{43}")
FORM = {"name": "billing", "scopes": ["producer"], "lifetime": "30", "reason": "for the new shop"}


@pytest.fixture(autouse=True)
def _without_keys(store: None) -> Iterator[None]:
    ApiKey.objects.all().delete()
    yield
    ApiKey.objects.all().delete()
    cache.clear()


def test_a_key_is_made_and_shown_once(console: Client) -> None:
    made = console.post(url("api_keys"), {**FORM, "queues_enqueue": "mail*, other"})

    (shown,) = set(SECRET.findall(made.content.decode()))
    assert made["Cache-Control"] == "no-store"
    key = ApiKey.objects.get()
    assert key.queues_enqueue == ["mail*", "other"]
    known = cache.get(key.prefix)
    assert known is not None
    assert known.is_opened_by(shown[13:], key.created_at)
    assert not SECRET.search(text(console, url("api_keys")))
    entry = Audit.objects.get(action="key.created")
    assert (entry.actor, entry.reason) == ("console:operator", "for the new shop")
    assert not SECRET.search(repr(entry.data))


@pytest.mark.parametrize(
    ("wrong", "member"),
    [({"name": ""}, "name"), ({"scopes": ["everything"]}, "scopes"), ({"scopes": []}, "scopes"),
     ({"lifetime": "1000000"}, "lifetime"), ({"tls_subject": "CN=taken"}, "tls_subject"),
     ({"name": "a\x00b"}, "name")],
)  # fmt: skip
def test_what_is_wrong_with_a_new_key_is_told(
    console: Client, wrong: dict[str, object], member: str
) -> None:
    create(NewKey("other", ("producer",), tls_subject="CN=taken"))

    answered = console.post(url("api_keys"), {**FORM, **wrong})

    assert answered.status_code == 400
    assert member in answered.context["form"].errors
    assert ApiKey.objects.count() == 1


def test_a_rotated_key_opens_with_both_secrets_for_a_while(console: Client) -> None:
    key, before = create(NewKey("billing", ("producer",)), Caller("ada"))

    rotated = console.post(url("api_key_rotate"), {"id": key.prefix, "grace": "60"})

    (after,) = set(SECRET.findall(rotated.content.decode()))
    assert after != before
    known = cache.get(key.prefix)
    assert known is not None
    for one in (before, after):
        assert known.is_opened_by(one[13:], key.created_at)
    assert Audit.objects.get(action="key.rotated").data == {"grace_s": 3600}
    for unknown in ("nonsense", "a\x00b", ""):
        assert console.post(url("api_key_rotate"), {"id": unknown}).status_code == 404


def test_a_revoked_key_is_gone_from_the_list_but_not_from_the_record(console: Client) -> None:
    key, _ = create(NewKey("billing", ("producer",)))

    said = messages_of(act(console, "key-revoke", id=key.prefix, reason="leaked"))

    assert "refuses it from now on" in said[-1]
    assert Audit.objects.get(action="key.revoked").reason == "leaked"
    assert "billing" not in text(console, url("api_keys"))
    assert "revoked" in text(console, url("api_keys", ended="1"))
    assert "does not exist" in messages_of(act(console, "key-revoke", id=key.prefix))[-1]


def test_many_keys_are_paged_and_found_by_name(console: Client) -> None:
    ApiKey.objects.bulk_create(
        ApiKey(name=f"key {n:03}", prefix=f"p{n:07}", secret_hash=b"") for n in range(120)
    )
    assert [key.name for key in console.get(url("api_keys", page="3")).context["keys"]] == [
        f"key {n:03}" for n in range(100, 120)
    ]
    assert len(console.get(url("api_keys", name="KEY 11")).context["keys"]) == 10
    assert "No key matches" in text(console, url("api_keys", name="none"))


def test_a_key_is_made_rotated_and_revoked_by_hand(page: Page) -> None:
    page.goto(url("api_keys"))
    page.locator("#new").get_by_label("Name").fill("by hand")
    page.locator("#new").get_by_role("button", name="Create key").click()
    shown = page.locator("#secret pre")
    expect(shown).to_have_text(SECRET)
    first = shown.inner_text()
    page.get_by_role("link", name="I have copied it").click()
    expect(page.locator("#secret")).to_have_count(0)

    page.get_by_role("button", name="Rotate by hand").click()
    answer(page, "the old one was mailed")
    expect(shown).not_to_have_text(first)
    expect(shown).to_have_text(SECRET)
    assert Audit.objects.get(action="key.rotated").reason == "the old one was mailed"

    page.get_by_role("button", name="Revoke by hand").click()
    answer(page)
    expect(page.locator(".messages")).to_contain_text("refuses it from now on")
    assert ApiKey.objects.get().revoked_at is not None
