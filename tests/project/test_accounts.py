"""Users, their passwords and their sessions. Spec: contract 31.1, 31.4."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import get_hasher
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.views import LoginView
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.api.logins import ThrottledBackend
from ojs_project import settings as server
from tests.project.test_settings import run
from tests.spec import spec

PASSWORD = "Tr0ub4dor and three"  # noqa: S105 - a test's own
LOGIN = "/console/login/"


@pytest.fixture
def user(db: None, settings: Any) -> User:
    """Return a superuser with a password, which is hashed fast."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_superuser("ada", password=PASSWORD)


def logged_in() -> Client:
    """Return a client that logged in by the form."""
    client = Client()
    answer = client.post(LOGIN, {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 302
    return client


def key_of(client: Client) -> str:
    """Return the session key from a client's cookie."""
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


@pytest.mark.parametrize("password", ["Sh0rt!x", "password1", "basketball", "ada.lovelace"])
def test_a_password_is_neither_short_nor_common_nor_the_name(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, User(username="ada.lovelace"))


@pytest.mark.parametrize("password", ["x" * 64 + "1", "correct horse battery staple", "8467310295"])
def test_a_password_of_any_composition_is_taken(password: str) -> None:
    validate_password(password, User(username="ada"))


@pytest.mark.parametrize("given", [PASSWORD.lower(), PASSWORD[:-1], f"{PASSWORD} "])
def test_a_password_is_compared_as_it_was_sent(user: User, given: str) -> None:
    assert Client().post(LOGIN, {"username": "ada", "password": given}).status_code == 200


def test_passwords_are_stored_by_a_slow_hash() -> None:
    assert get_hasher().algorithm == "pbkdf2_sha256"
    assert get_hasher().iterations >= 600_000  # type: ignore[attr-defined]  # of this hasher


def test_a_user_of_the_admin_changes_the_password_with_the_one_before(user: User) -> None:
    one, other = logged_in(), logged_in()
    new = "another long password"
    form = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert one.post(reverse("admin:password_change"), form).status_code == 200

    answer = one.post(reverse("admin:password_change"), {**form, "old_password": PASSWORD})

    assert answer.status_code == 302
    assert one.get("/console/").status_code == 200
    assert other.get("/console/").status_code == 302, "sessions elsewhere end"


def test_the_login_takes_pasted_and_stored_passwords(db: None) -> None:
    page = Client().get(LOGIN).content.decode()

    assert 'type="password" name="password" autocomplete="current-password"' in page
    assert "onpaste" not in page


def test_every_way_to_log_in_with_a_password_is_throttled() -> None:
    assert [
        f"{ThrottledBackend.__module__}.{ThrottledBackend.__name__}"
    ] == settings.AUTHENTICATION_BACKENDS
    assert LoginView.form_class.__module__ == "django.contrib.auth.forms"


def test_a_login_makes_a_new_session(user: User) -> None:
    client = logged_in()
    first = key_of(client)

    client.post(LOGIN, {"username": "ada", "password": PASSWORD})
    client.logout()
    second = key_of(logged_in())

    assert first != second
    assert len(first) == 32


def test_a_session_is_gone_after_the_logout(user: User) -> None:
    client = logged_in()
    key = key_of(client)
    assert "Log out" in client.get("/console/").content.decode()

    client.post(reverse("ojs_console:logout"))

    assert not Session.objects.filter(session_key=key).exists()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    assert client.get("/console/").status_code == 302


def test_a_session_ends_after_twelve_hours(user: User) -> None:
    client = logged_in()
    session = Session.objects.get(session_key=key_of(client))
    left = session.expire_date - timezone.now()
    assert timedelta(hours=11, minutes=59) < left <= timedelta(hours=12)

    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))

    assert client.get("/console/").status_code == 302


@spec("contract 31.4")
def test_cookies_are_of_this_host_alone_where_tls_is_required() -> None:
    told = (
        "from django.conf import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME,"
        " s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY,"
        " s.SESSION_COOKIE_SAMESITE, s.CSRF_COOKIE_SAMESITE, s.SESSION_COOKIE_DOMAIN)"
    )
    done = run(
        "-c", told, OJS_BUILD="true", OJS_REQUIRE_TLS="true",
        DJANGO_SETTINGS_MODULE=server.__name__,
    )  # fmt: skip

    assert done.stdout.split() == [
        "__Host-sessionid", "__Host-csrftoken", "True", "True", "True", "Lax", "Lax", "None",
    ], done.stderr  # fmt: skip
