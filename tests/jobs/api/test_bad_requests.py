"""Invalid paths, methods and headers: refused in the OJS shape, never with a 5xx."""

import json

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.api.wire.media import OJS_TYPE
from tests.effort import examples
from tests.jobs.api.refusals import (
    BODIES,
    DOCUMENT,
    EXAMPLES,
    JOB_ID,
    OPERATIONS,
    PATHS,
    STREAMS,
    assert_refused,
    url,
)


@given(
    st.sampled_from(["job_id", "name", "worker_id", "verb", "key"]),
    st.sampled_from(
        [
            "%00",
            "a%00",
            "%ff",
            "%c3%28",
            "%ed%a0%80",
            "%2e%2e",
            "%20",
            "a%0Ab",
            "%F0%9F%98%80",
            "x" * 9000,
        ]
    )
    | st.binary(min_size=1, max_size=12).map(lambda b: "".join(f"%{byte:02x}" for byte in b)),
)
@EXAMPLES
def test_path_of_any_bytes_fails_nothing(api: Client, name: str, segment: str) -> None:
    for item in OPERATIONS:
        method, path, operation = item.values
        if f"{{{name}}}" not in str(path):
            continue
        places = {"job_id": JOB_ID, **PATHS, name: segment}
        body = json.dumps(BODIES.get(operation["operationId"], {}))  # type: ignore[index]  # a dict

        answer = api.generic(str(method), str(path).format(**places), body, content_type=OJS_TYPE)

        assert answer.status_code < 500, (item.id, segment)
        if answer.status_code >= 400:
            assert_refused(answer)


@pytest.mark.parametrize(
    "path",
    ["/ojs", "/ojs/", "/ojs/v1", "/ojs/v1/", "/ojs/v1/jobs/", "/ojs/v2/jobs",
     "/ojs/%ff", "/ojs/v1/jobs/a/b/c", "/ojs/v1/workers/", "/ojs//v1/jobs",
     "/ojs/v1/" + "x" * 9000],
)  # fmt: skip
def test_unknown_path_is_refused(api: Client, path: str) -> None:
    assert_refused(api.get(path), 404)
    assert_refused(api.generic("POST", path, b"\xff", content_type="x"), 404)


@pytest.mark.parametrize(
    "method", ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"]
)
def test_unknown_method_is_refused_everywhere(api: Client, method: str) -> None:
    for path, known in DOCUMENT["paths"].items():
        if method.lower() in known:
            continue
        answer = api.generic(method, url(path), b"{", content_type="x")

        error = assert_refused(answer, 405)
        assert error["code"] == "method_not_allowed"
        allowed = set(answer["Allow"].split(", "))
        assert allowed - {"HEAD", "OPTIONS"} == {name.upper() for name in known}, path


def test_head_and_options_work_everywhere(api: Client) -> None:
    for path, known in DOCUMENT["paths"].items():
        if "get" in known:
            assert api.head(url(path)).content == b""
        answer = api.options(url(path))
        assert answer.status_code == 204
        assert {name.upper() for name in known} <= set(answer["Allow"].split(", "))


@pytest.mark.parametrize("version", ["2", "0", "x", "1x", "11", "-1", "1 1", "é", "v1", "9" * 1000])
def test_other_version_is_refused_everywhere(api: Client, version: str) -> None:
    for item in OPERATIONS:
        method, path, _ = item.values
        answer = api.generic(
            str(method), url(str(path)), b"{}", content_type=OJS_TYPE, HTTP_OJS_VERSION=version
        )

        assert assert_refused(answer, 422)["code"] == "unsupported", item.id


@pytest.mark.parametrize(
    "host", ["evil.example", "a b", "localhost:x", "[::1", "é", "localhost\x00"]
)
def test_unknown_host_fails_nothing(api: Client, host: str) -> None:
    for item in OPERATIONS:
        method, path, _ = item.values
        answer = api.generic(
            str(method), url(str(path)), b"{}", content_type=OJS_TYPE, HTTP_HOST=host
        )

        is_told = "health" in str(path) or item.id in STREAMS
        assert answer.status_code < 500 or is_told, item.id
        if 400 <= answer.status_code < 500:
            assert_refused(answer)


@given(st.text(st.characters(max_codepoint=255), max_size=200))
@EXAMPLES
def test_request_id_of_any_text_is_echoed_or_replaced(api: Client, sent: str) -> None:
    answer = api.get("/ojs/v1/jobs/x", HTTP_X_REQUEST_ID=sent)

    error = assert_refused(answer, 404)
    is_fine = 1 <= len(sent) <= 128 and all("!" <= letter <= "~" for letter in sent)
    assert (error["request_id"] == sent) is is_fine


@given(
    st.sampled_from(["Authorization", "X-API-Key", "Cookie"]),
    st.sampled_from(["Bearer ", "bearer ojs_", "Basic ", "ojs_", "sessionid=", ""]),
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=80),
)
@settings(EXAMPLES, max_examples=examples(150))
def test_credentials_of_any_text_open_nothing(
    api: Client, with_keys: None, name: str, kind: str, text: str
) -> None:
    answer = api.get("/ojs/v1/queues", headers={name: kind + text})

    assert_refused(answer, 401)
    assert answer["WWW-Authenticate"] == "Bearer"
