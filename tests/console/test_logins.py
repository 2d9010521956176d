"""Bounds on failed logins at the console and at Django's admin. Spec: contract 31."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.domain.errors import RateLimited
from jobs.models import Audit, LoginWindow
from jobs.services.access import throttle_logins
from jobs.services.access.throttle_logins import begin, delete_expired_windows
from tests.concurrency import at_once
from tests.console.conftest import PASSWORD

PAGES = ["ojs_console:login", "admin:login"]
OFFICE, HOME = "192.0.2.1", "198.51.100.1"


@pytest.fixture(autouse=True)
def bounds(settings: Any) -> None:
    """Allow three failures of an account, and five of an address; hash passwords fast."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.OJS = {**settings.OJS, "LOGIN_ACCOUNT_FAILURES": 3, "LOGIN_ADDRESS_FAILURES": 5}


@pytest.fixture
def user(operator: User) -> Iterator[User]:
    """Return an operator; remove all login windows afterwards."""
    operator.set_password(PASSWORD)
    operator.save()
    yield operator
    LoginWindow.objects.all().delete()


def log_in(page: str, name: str, password: str, address: str = OFFICE) -> Any:
    """Send the form of a login page."""
    client = Client(REMOTE_ADDR=address)
    return client.post(reverse(page), {"username": name, "password": password})


def later() -> None:
    """End all login windows."""
    LoginWindow.objects.update(ends_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("page", PAGES)
def test_an_account_has_a_bounded_number_of_failures(user: User, page: str) -> None:
    for _ in range(3):
        assert log_in(page, user.username, "wrong").status_code == 200

    refused = log_in(page, user.username, PASSWORD, HOME)

    assert refused.status_code == 429, "the right password does not help either"
    assert 1 <= int(refused["Retry-After"]) <= 900
    assert "try again in 15 min" in refused.content.decode()
    later()
    assert log_in(page, user.username, PASSWORD).status_code == 302


@pytest.mark.parametrize("page", PAGES)
def test_an_address_has_a_bounded_number_of_failures_over_all_accounts(
    user: User, page: str
) -> None:
    for number in range(5):
        assert log_in(page, f"guess-{number}", "wrong").status_code == 200

    assert log_in(page, user.username, PASSWORD).status_code == 429
    assert log_in(page, user.username, PASSWORD, HOME).status_code == 302


def test_refused_tries_do_not_prolong_a_lock(user: User) -> None:
    for _ in range(4):
        log_in(PAGES[0], user.username, "wrong")
    ends_at = set(LoginWindow.objects.values_list("kind", "ends_at"))

    for _ in range(3):
        assert log_in(PAGES[0], user.username, "wrong").status_code == 429

    assert set(LoginWindow.objects.values_list("kind", "ends_at")) == ends_at


def test_logins_that_succeed_do_not_count(user: User) -> None:
    for _ in range(8):
        assert log_in(PAGES[0], user.username, PASSWORD).status_code == 302


def test_strangers_do_not_lock_out_an_account_from_where_it_is_known(user: User) -> None:
    assert log_in(PAGES[0], user.username, PASSWORD, HOME).status_code == 302
    for _ in range(4):
        log_in(PAGES[0], user.username, "wrong", OFFICE)

    assert log_in(PAGES[0], user.username, PASSWORD, "203.0.113.9").status_code == 429
    assert log_in(PAGES[0], user.username, PASSWORD, HOME).status_code == 302


def test_the_api_of_a_locked_account_goes_on(user: User) -> None:
    client = Client(REMOTE_ADDR=HOME)
    client.post(reverse(PAGES[0]), {"username": user.username, "password": PASSWORD})
    for _ in range(4):
        log_in(PAGES[0], user.username, "wrong")

    assert client.get("/console/").status_code == 200


def test_a_lock_is_one_entry_of_the_audit_log(user: User) -> None:
    for _ in range(5):
        log_in(PAGES[0], user.username, "wrong")

    entry = Audit.objects.get(action="auth.login_locked")
    assert (entry.target, entry.address, entry.outcome) == (user.username, OFFICE, "denied")
    assert entry.data["by"] == "account"
    assert Audit.objects.filter(action="auth.login_failure").count() == 3


def test_an_address_that_is_locked_is_named_in_the_audit_log(user: User) -> None:
    for number in range(6):
        log_in(PAGES[0], f"guess-{number}", "wrong")

    entry = Audit.objects.get(action="auth.login_locked")
    assert (entry.target, entry.data["by"]) == (OFFICE, "address")


def test_the_bound_holds_for_tries_at_the_same_time(user: User) -> None:
    def let_in() -> bool:
        try:
            begin(user.username, OFFICE)
        except RateLimited:
            return False
        return True

    assert sum(at_once([let_in] * 8)) == 3


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_an_ipv6_customer_is_one_network(first: str, second: str, is_one: bool) -> None:
    assert (throttle_logins._network(first) == throttle_logins._network(second)) is is_one


def test_no_name_or_address_is_stored_readably(user: User) -> None:
    log_in(PAGES[0], "my password by mistake", "x")

    stored = str(list(LoginWindow.objects.values()))
    assert "mistake" not in stored
    assert OFFICE not in stored


def test_windows_that_ended_are_removed(user: User) -> None:
    log_in(PAGES[0], "nobody", "wrong")
    assert delete_expired_windows() == 0
    later()

    assert delete_expired_windows() == 2


def test_zero_allows_any_number(user: User, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "LOGIN_ACCOUNT_FAILURES": 0, "LOGIN_ADDRESS_FAILURES": 0}

    for _ in range(8):
        assert log_in(PAGES[0], user.username, "wrong").status_code == 200
