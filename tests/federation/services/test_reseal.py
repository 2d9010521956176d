"""`manage.py reseal` changes the encryption keys of secrets. Spec: contract 23.7, 26.2."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from federation.domain.reading import read_given_auth, read_region
from federation.domain.region import Secret
from federation.models import Region
from federation.services.registry.configure import put_region
from federation.services.registry.registry import region_of
from jobs.domain.access.caller import Caller
from webhooks.models import Subscription
from webhooks.services import subscriptions

pytestmark = pytest.mark.usefixtures("store")

TOKEN = "a-token-of-eu"  # noqa: S105 - of a test
OLD, NEW = "an-old-key", "a-new-key"


@pytest.fixture
def sealed(settings: Any) -> Any:
    """Store a token and two secrets with the old key, then put the new key before it."""
    settings.OJS = {**settings.OJS, "ENCRYPTION_KEYS": (OLD,)}
    auth = {"kind": "bearer", "token": TOKEN}
    put_region(
        read_region({"id": "eu", "url": "https://eu.example.org", "auth": auth}, read_given_auth)
    )
    made, _ = subscriptions.create(
        subscriptions.Draft("https://a.example.org", ["*"]), Caller("test")
    )
    subscriptions.rotate(made.id)
    settings.OJS = {**settings.OJS, "ENCRYPTION_KEYS": (NEW, OLD)}
    yield settings
    Subscription.objects.all().delete()


def reseal() -> str:
    said = StringIO()
    call_command("reseal", stdout=said)
    return said.getvalue()


def token() -> Secret | None:
    return region_of(Region.objects.get()).auth.token


def test_secrets_open_without_the_old_key_afterwards(sealed: Any) -> None:
    assert token() == Secret(TOKEN)

    assert "3 secrets" in reseal()
    sealed.OJS = {**sealed.OJS, "ENCRYPTION_KEYS": (NEW,)}

    assert token() == Secret(TOKEN)
    row = Subscription.objects.get()
    both = (bytes(row.secret), bytes(row.previous_secret or b""))
    opened = {subscriptions.vault().open(one) for one in both}
    assert len(opened) == 2


def test_secret_that_no_key_opens_is_told_and_left(sealed: Any) -> None:
    sealed.OJS = {**sealed.OJS, "ENCRYPTION_KEYS": (NEW,)}

    with pytest.raises(CommandError, match="no key decrypts 3 secrets"):
        reseal()

    assert token() is None
    sealed.OJS = {**sealed.OJS, "ENCRYPTION_KEYS": (OLD,)}
    assert token() == Secret(TOKEN)
