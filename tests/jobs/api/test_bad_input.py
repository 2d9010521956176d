"""Invalid bodies and parameters: refused in the OJS shape, never with a 5xx.

Values are generated and equal in every run. The OpenAPI document decides which values are wrong for
a member, so a new member needs no line here.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from federation.domain.reading import read_region
from federation.services.registry.configure import put_region
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import Job
from tests.effort import examples
from tests.factories import JobFactory
from tests.jobs.api.refusals import (
    BODIES,
    DOCUMENT,
    EXAMPLES,
    OPERATIONS,
    PATHS,
    STREAMS,
    WITH_BODY,
    assert_refused,
    is_second,
    url,
    validator,
)
from tests.scheduling.conftest import registered
from tests.spec import spec

# refusals name these members by their main name
ALIASES = {
    "backoff": "backoff_strategy", "max_size": "max_depth",
    "open_after_failures": "failure_threshold", "half_open_after_seconds": "cooldown_seconds",
}  # fmt: skip
EITHER = {"job_ids", "filter"}  # null means absent, and the other one is given
WITH_QUERY = [
    item
    for item in OPERATIONS
    if item.values[0] == "GET"
    and not is_second(item)
    and item.id not in STREAMS
    and any(p.get("in") == "query" for p in item.values[2]["parameters"])  # type: ignore[index]  # a dict
]

Place = tuple[str | int, ...]


def _places(schema: dict[str, Any], at: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Return every member of a request, with its schema, including nested objects and lists."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    known = {name: member for name, member in schema.get("properties", {}).items() if member}
    for name, member in known.items():
        yield (*at, name), member
        yield from _places(member, (*at, name))
    for option in schema.get(
        "anyOf", ()
    ):  # conditions repeat members; the first schema describes the member
        for place, member in _places(option, at):
            if place[len(at)] not in known:
                yield place, member
    if isinstance(items := schema.get("items"), dict) and at:
        yield from _places(items, (*at, 0))


def _schema_of(operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = operation["requestBody"]["content"][OJS_TYPE]["schema"]
    return found


def _with(body: Any, at: Place, value: object) -> Any:
    """Return a copy of a request with another value at one place; create missing parents."""
    if not at:
        return value
    key, rest = at[0], at[1:]
    if isinstance(key, int):
        return [_with(body[key] if isinstance(body, list) and body else {}, rest, value)]
    inside = body if isinstance(body, dict) else {}
    return {**inside, key: _with(inside.get(key), rest, value)}


def _has(body: Any, at: Place) -> bool:
    for key in at:
        if isinstance(body, dict) and key in body:
            body = body[str(key)]
        elif isinstance(body, list) and isinstance(key, int) and key < len(body):
            body = body[key]
        else:
            return False
    return True


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


SPECIAL: list[Any] = [
    "", " ", "0", "-1", "true", "a" * 300, "A", "ä", "a\n", "\u202e", "😀" * 200, "+PT", "P",
    "PT-1S", "+P999999999Y", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00",
    "NaN", [], {}, [[]], [None], [1, "a", None], {"a": {"b": []}}, _nested(60), [0] * 10_000,
    ["a"] * 10_000, 0, -1, 1.5, -0.0, 1e308, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1,
    10**300, -(10**300),
]  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(SPECIAL),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab.", max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner),
        max_leaves=6,
    ),
)


GENERATED = [one for one in WITH_BODY if not is_second(one)]
WITH_MEMBERS = [one for one in GENERATED if any(_places(_schema_of(one.values[2])))]  # type: ignore[arg-type]


@pytest.mark.parametrize(("method", "path", "operation"), WITH_MEMBERS)
def test_member_with_a_wrong_value_is_named(
    api: Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    places = [(at, validator(schema)) for at, schema in _places(_schema_of(operation))]
    body = BODIES[operation["operationId"]]
    target = url(path, JobFactory.create(state=State.DISCARDED).id)
    registered(str(PATHS["name"]))
    if operation["operationId"] == "patchRegion":  # the server validates the patched region
        put_region(read_region({"id": PATHS["region_id"], "url": "https://eu.example.org"}))
    stored = Job.objects.count()

    @given(st.data())
    @EXAMPLES
    def check(data: st.DataObject) -> None:
        at, rule = data.draw(st.sampled_from(places))
        wrong = data.draw(VALUES.filter(lambda value: not rule.is_valid(value)))
        # null means absent, which is wrong only for a member that the request needs
        assume(wrong is not None or (_has(body, at) and at[-1] not in EITHER))
        sent = json.dumps(_with(body, at, wrong)).encode()

        error = assert_refused(api.generic(method, target, sent, content_type=OJS_TYPE))

        if error["code"] not in {"batch_too_large", "payload_too_large"}:
            named = re.sub(r"\[\d+\]", "", error["details"]["field"]).split(".")[-1]
            expected = [part for part in at if isinstance(part, str)][-1].split(".")[-1]
            is_inside = isinstance(wrong, list | dict)  # the refusal may name a nested member
            # a parent may contradict the rest of the body
            is_around = named in at[:-1]
            assert is_inside or is_around or named == ALIASES.get(expected, expected), (at, wrong)

    check()
    assert Job.objects.count() == stored


@pytest.mark.parametrize(("method", "path", "operation"), GENERATED)
def test_member_with_any_value_fails_nothing(
    api: Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    places = [at for at, _ in _places(_schema_of(operation)) if at != ("wait_ms",)]
    body = BODIES[operation["operationId"]]

    @given(st.lists(st.tuples(st.sampled_from([*places, ("unknown",)]), VALUES), max_size=4))
    @EXAMPLES
    def check(changes: list[tuple[Place, Any]]) -> None:
        changed: Any = body
        for at, value in changes:
            changed = _with(changed, at, value)

        answer = api.generic(method, url(path), json.dumps(changed), content_type=OJS_TYPE)

        if answer.status_code >= 400:
            assert_refused(answer)

    check()


RAW = {
    "empty": b"",
    "blank": b" \n",
    "cut": b'{"a": [1, 2',
    "trailing": b"{} x",
    "two documents": b"{}{}",
    "an array": b"[]",
    "a string": b'"{}"',
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "too large a number": b'{"a": 1e999}',
    "too many digits": b'{"a": ' + b"9" * 5000 + b"}",
    "leading zero": b'{"a": 01}',
    "hexadecimal": b'{"a": 0x1}',
    "comment": b"{} // none",
    "single quotes": b"{'a': 1}",
    "trailing comma": b'{"a": 1,}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "not UTF-8": b'{"a": "\xff\xfe"}',
    "cut UTF-8": b'{"a": "\xe2\x82"}',
    "overlong UTF-8": b'{"a": "\xc0\x80"}',
    "raw surrogate": b'{"a": "\xed\xa0\x80"}',
    "lone surrogate": b'{"a": "\\ud800"}',
    "reversed surrogates": b'{"a": "\\udc00\\ud800"}',
    "lone surrogate in a key": b'{"\\udfff": 1}',
    "NUL": b'{"a": "\\u0000"}',
    "NUL in a key": b'{"a": {"b\\u0000": 1}}',
    "NUL deep down": b'{"a": [[{"b": ["x\\u0000y"]}]]}',
    "raw NUL": b'{"a": "\x00"}',
    "control character": b'{"a": "\n"}',
    "deep arrays": b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}",
    "very deep arrays": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 101 + b"1" + b"}" * 101,
    "deep and open": b"[" * 100_000,
}


@pytest.mark.parametrize("raw", [pytest.param(raw, id=name) for name, raw in RAW.items()])
def test_body_that_is_no_storable_json_object_is_refused_everywhere(
    api: Client, raw: bytes
) -> None:
    for item in WITH_BODY:
        method, path, operation = item.values
        answer = api.generic(str(method), url(str(path)), raw, content_type=OJS_TYPE)

        is_nothing = raw.strip() in {b"", b"null"}
        if not is_nothing or operation["requestBody"]["required"]:  # type: ignore[index]  # a dict
            assert assert_refused(answer, 400)["code"] == "invalid_payload", item.id


def test_body_with_a_key_twice_means_the_last(api: Client) -> None:
    sent = b'{"type": "bad type", "args": 1, "type": "mail.send", "args": ["a"]}'

    answer = api.generic("POST", "/ojs/v1/jobs", sent, content_type=OJS_TYPE)

    assert answer.status_code == 201
    assert answer.json()["job"]["args"] == ["a"]


@spec("contract 31.3")
def test_a_body_has_at_most_64_levels(api: Client) -> None:
    def sent(levels: int) -> Any:
        body = {"type": "tests.noop", "args": _nested(levels - 1)}  # plus the object's level
        return api.post("/ojs/v1/jobs", json.dumps(body), content_type=OJS_TYPE)

    assert sent(64).status_code == 201
    error = assert_refused(sent(65), 400)
    assert "deeper than 64 levels" in error["message"]


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "replace")))
@settings(EXAMPLES, max_examples=examples(200))
def test_body_of_any_bytes_is_refused(api: Client, raw: bytes) -> None:
    assume(b":" not in raw)  # bytes with a colon may form a valid request
    for path in ("jobs", "workers/fetch", "workers/ack"):
        assert_refused(api.generic("POST", f"/ojs/v1/{path}", raw, content_type=OJS_TYPE), 400)


@pytest.mark.parametrize(
    "kind",
    [
        "", "text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x", "application/octet-stream", "json", "application/json+x",
        "application/openjobspec", "*/*", "é", ";", "application/json, text/plain",
    ],
)  # fmt: skip
def test_body_of_another_media_type_is_refused_everywhere(api: Client, kind: str) -> None:
    for item in WITH_BODY:
        method, path, operation = item.values
        sent = json.dumps(BODIES[operation["operationId"]] or {"a": 1})  # type: ignore[index]  # a dict

        answer = api.generic(str(method), url(str(path)), sent, content_type=kind)

        assert assert_refused(answer, 400)["details"]["field"] == "Content-Type", item.id


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "identity, gzip", "x"])
def test_body_that_is_compressed_is_refused_everywhere(api: Client, coding: str) -> None:
    for item in WITH_BODY:
        method, path, _ = item.values
        answer = api.generic(
            str(method), url(str(path)), b"{}", content_type=OJS_TYPE, HTTP_CONTENT_ENCODING=coding
        )

        assert assert_refused(answer, 400)["details"]["field"] == "Content-Encoding", item.id


def test_body_above_the_limit_is_refused_without_reading_it(api: Client) -> None:
    for length in ("10485761", "9" * 30):
        answer = api.generic(
            "POST", "/ojs/v1/jobs", b"{}", content_type=OJS_TYPE, CONTENT_LENGTH=length
        )

        assert assert_refused(answer, 413)["details"]["actual"] == int(length)


@pytest.mark.parametrize("length", ["-1", "x", "1.5", "²", " "])
def test_length_that_is_no_number_is_refused(api: Client, length: str) -> None:
    answer = api.generic(
        "POST", "/ojs/v1/jobs", b"{}", content_type=OJS_TYPE, CONTENT_LENGTH=length
    )

    assert assert_refused(answer, 400)["details"]["field"] == "Content-Length"


@pytest.mark.parametrize("operation", ["createJobs", "ackJobs", "nackJobs"])
def test_batch_above_the_limit_is_refused(api: Client, operation: str) -> None:
    name, items = next(iter(BODIES[operation].items()))
    path = next(str(item.values[1]) for item in WITH_BODY if item.id == operation)

    answer = api.post(path, {name: items * 10_001}, content_type=OJS_TYPE)

    error = assert_refused(answer, 413)
    assert error["code"] == "batch_too_large"
    assert error["details"] == {"max_batch_size": 10_000, "limit": 10_000, "actual": 10_001}


def test_fetch_from_10_000_queues_is_refused(api: Client) -> None:
    body = {"queues": ["a"] * 10_000}

    answer = api.post("/ojs/v1/workers/fetch", body, content_type=OJS_TYPE)

    assert assert_refused(answer, 400)["details"]["field"] == "queues"


@pytest.mark.parametrize(("method", "path", "operation"), WITH_QUERY)
def test_parameter_with_a_wrong_value_is_named(
    api: Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    rules = {
        p["name"]: validator(p["schema"]) for p in operation["parameters"] if p.get("in") == "query"
    }
    texts = st.sampled_from([str(value) for value in SPECIAL[:20] if value != ""]) | st.text(
        st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20
    )

    @given(st.sampled_from(sorted(rules)), texts)
    @EXAMPLES
    def check(name: str, value: str) -> None:
        answer = api.generic(method, f"{url(path)}?{urlencode({name: value})}")

        if answer.status_code not in {200, 404}:
            named = assert_refused(answer, 400)["details"]["field"]
            assert named == name
        else:
            meant = [value, int(value)] if value.isascii() and value.isdigit() else [value]
            assert any(map(rules[name].is_valid, meant)), (name, value)

    check()
