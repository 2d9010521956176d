"""The settings of remote mode, and the secrecy of the key."""

import logging
import pickle
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ojs_tasks.exceptions import NoServer, ServerUnreachable
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.remote.settings import RemoteSettings
from tests.conftest import free_port

KEY = "ojs_abcdefgh_" + "s3cret" * 7
SERVER = "https://jobs.example.org"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://a.example", "https://a.example"),
        ("https://a.example/", "https://a.example"),
        ("https://a.example/work/ojs/v1/", "https://a.example/work"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_the_address_is_that_of_the_server(given: str, address: str) -> None:
    assert RemoteSettings.of({"SERVER": given, "API_KEY": KEY}).address == address


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "must be an address"),
        ({"SERVER": "jobs.example.org"}, "must be an address"),
        ({"SERVER": "ftp://a.example"}, "must be an address"),
        ({"SERVER": "https://me:pw@a.example"}, "no credentials"),
        ({"SERVER": "https://a.example?x=1"}, "no query"),
        ({"SERVER": "http://a.example", "API_KEY": KEY}, "ALLOW_HTTP"),
        ({"SERVER": SERVER, "API_KEY": 7}, "must be text, a path"),
        ({"SERVER": SERVER, "TIMEOUT": "10"}, "TIMEOUT"),
        ({"SERVER": SERVER, "TIMEOUT": 0}, "TIMEOUT"),
        ({"SERVER": SERVER, "RETRIES": True}, "RETRIES"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(NoServer, match=problem) as caught:
        RemoteSettings.of(options)

    assert KEY not in str(caught.value)


def test_plain_http_is_permitted_by_a_setting_or_without_a_key() -> None:
    RemoteSettings.of({"SERVER": "http://a.example", "API_KEY": KEY, "ALLOW_HTTP": True})
    RemoteSettings.of({"SERVER": "http://a.example"})


def test_unreadable_certificates_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoServer, match="OJS\\['CA'\\]"):
        RemoteServer({"SERVER": SERVER, "CA": str(tmp_path / "none.pem")})


def test_the_key_may_be_in_a_file_that_changes(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("first\n")
    key = RemoteSettings.of({"SERVER": SERVER, "API_KEY": tmp_path / "key"}).key
    assert key.header == "Bearer first"

    (tmp_path / "key").write_text("second\n")

    assert key.header == "Bearer second"
    assert RemoteSettings.of({"SERVER": SERVER, "API_KEY": lambda: "made"}).key.header == (
        "Bearer made"
    )


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a b", "schlüssel", "x" * 5000])
def test_an_impossible_key_is_refused_without_showing_it(text: str) -> None:
    key = RemoteSettings.of({"SERVER": SERVER, "API_KEY": lambda: text}).key

    with pytest.raises(NoServer) as caught:
        _ = key.header

    assert not text.strip() or text not in str(caught.value)


def test_the_key_comes_out_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = RemoteSettings.of(
        {"SERVER": f"http://127.0.0.1:{free_port()}", "API_KEY": KEY, "RETRIES": 0}
    )
    with closing(RemoteServer(settings)) as server:
        with pytest.raises(ServerUnreachable) as caught:
            server.read("1")
        with pytest.raises(TypeError):
            pickle.dumps(settings)

    shown = [repr(settings), repr(server), str(vars(server)), caplog.text]
    shown += traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    assert KEY not in "".join(shown)
