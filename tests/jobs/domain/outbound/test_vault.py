"""Encryption of stored secrets. Spec: contract 26.2, 23.7."""

import pytest

from jobs.domain.outbound.vault import Vault
from tests.spec import spec
from webhooks.services.subscriptions import PURPOSE


@spec("contract 26.2")
def test_a_sealed_secret_opens_with_its_key_alone() -> None:
    sealed = Vault(["key"], "a").seal("secret")

    assert b"secret" not in sealed
    assert Vault(["key"], "a").open(sealed) == "secret"
    with pytest.raises(ValueError, match="another key"):
        Vault(["other"], "a").open(sealed)


def test_secret_that_was_sealed_for_one_purpose_opens_for_no_other() -> None:
    sealed = Vault(["key"], "webhooks").seal("secret")

    with pytest.raises(ValueError, match="another key"):
        Vault(["key"], "regions").open(sealed)


def test_keys_are_rotated_by_putting_the_new_one_before_the_old_one() -> None:
    sealed = Vault(["old"], "a").seal("secret")
    rotating = Vault(["new", "old"], "a")

    assert rotating.open(sealed) == "secret"
    assert Vault(["new"], "a").open(rotating.reseal(sealed)) == "secret"


def test_secret_of_a_webhook_of_release_0_1_still_opens() -> None:
    sealed = (
        b"gAAAAABrBF4ajQ1wn8TDAq-GNYCHXvG_my0YkAf8868aopcEepEM2zSJoA0KePrLCpXYOnTaJU7Sj3u210ey5w2"
        b"004sjGL6Phg=="
    )

    assert Vault(["key"], PURPOSE).open(sealed) == "secret"
