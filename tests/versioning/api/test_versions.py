"""Versions of jobs as producers send and receive them. Spec: job-versioning 5; contract 22.2."""

from typing import Any

import orjson
import pytest

from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.wire import TYPE, fetched, push, versions_of

pytestmark = pytest.mark.usefixtures("store")


@pytest.mark.parametrize("version", [2, 0, "2", "2.0", "1.10", "2.0.1"])
@spec("VER-5.2-a")
def test_versions_come_back_as_they_were_sent(version: Any) -> None:
    job = push(version)

    assert (job["version"], type(job["version"])) == (version, type(version))
    shown = answer(send("GET", f"jobs/{job['id']}"))["job"]
    assert (shown["version"], type(shown["version"])) == (version, type(version))
    listed = answer(send("GET", "admin/jobs"))["items"][0]
    assert (listed["version"], type(listed["version"])) == (version, type(version))
    got = fetched()[0]
    assert (got["version"], type(got["version"])) == (version, type(version))
    answer(send("POST", "workers/ack", {"job_id": job["id"], "result": 1}))
    shown = answer(send("GET", f"jobs/{job['id']}"))["job"]
    assert (shown["state"], shown["version"]) == ("completed", version)


@spec("VER-5.2-a")
def test_and_d_ver_7_without_a_version_there_is_none() -> None:
    assert "version" not in push()
    assert "version" not in push(None, version=None)
    assert "version" not in fetched()[0]


@spec("VER-5.2-a")
def test_options_may_have_it_and_the_top_level_wins() -> None:
    assert push(options={"version": "2.0"})["version"] == "2.0"
    assert push(3, options={"version": "2.0"})["version"] == 3


@spec("VER-5.3-a")
def test_the_version_behind_the_type_is_taken_off() -> None:
    job = push(type=f"{TYPE}@2.0")

    assert (job["type"], job["version"]) == (TYPE, "2.0")
    assert (fetched()[0]["type"], job["version"]) == (TYPE, "2.0")


@spec("VER-5.3-b")
def test_the_field_wins_over_what_is_behind_the_type() -> None:
    job = push("3.0", type=f"{TYPE}@2.0")

    assert (job["type"], job["version"]) == (TYPE, "3.0")
    assert push(type=f"{TYPE}@2.0", options={"version": 4})["version"] == 4


@spec("VER-5.3-a")
def test_the_type_stays_whole_where_the_server_is_told_so(
    settings: Any,
) -> None:
    settings.OJS_VERSIONING = {"KEEP_TYPE_SUFFIX": True}

    job = push(type=f"{TYPE}@2.0")

    assert (job["type"], job["version"]) == (f"{TYPE}@2.0", "2.0")
    only_1 = [{"type": TYPE, "versions": "1.0"}]
    assert fetched(handlers=only_1) == []
    assert fetched(handlers=[{"type": TYPE, "versions": "2.0"}])[0]["type"] == f"{TYPE}@2.0"


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ('"version": 1.10', "version", "a number loses zeros"),
        ('"version": 2.0', "version", "a number loses zeros"),
        ('"version": 1e0', "version", "a number loses zeros"),
        ('"version": "v2"', "version", "its major part 'v2'"),
        ('"version": "02.1"', "version", "leading zero"),
        ('"version": "2.0.0-rc"', "version", "its patch part '0-rc'"),
        ('"version": "-1.0"', "version", "its major part '-1'"),
        ('"version": -1', "version", "its major part '-1'"),
        ('"version": true', "version", "must be text"),
        ('"version": {}', "version", "must be text"),
        ('"version": ""', "version", "empty major part"),
        ('"version": 123456789012345678901234567890', "version", "more than 9 digits"),
        ('"version": "\\ud800"', None, ""),
        ('"options": {"version": "x"}', "options.version", "its major part 'x'"),
    ],
)
@spec("VER-5.1-a")
def test_others_are_refused_and_the_part_is_named(
    body: str, field: str | None, problem: str
) -> None:
    sent = f'{{"type": "{TYPE}", "args": [], {body}}}'

    refused = send("POST", "jobs", orjson.Fragment(sent))

    error = answer(refused, 400)["error"]
    assert error["code"] == ("invalid_request" if field else "invalid_payload")
    if field is not None:
        assert (error["details"]["field"], problem in error["message"]) == (field, True)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (f"{TYPE}@", "empty major part"), (f"{TYPE}@x", "its major part 'x'"),
        ("@2.0", "dot-separated"), (f"{TYPE}@1.0@2.0", "dot-separated"), ("A@2.0", "dot-separated"),
    ],
)  # fmt: skip
@spec("VER-5.3-a")
def test_what_is_behind_the_type_must_be_a_version(written: str, problem: str) -> None:
    error = push("2.0", type=written, status=400)

    assert error["details"]["field"] == "type"
    assert problem in error["message"]


@spec("VER-5.2-a")
def test_batches_have_versions_of_their_own() -> None:
    jobs: list[dict[str, Any]] = [{"type": TYPE, "args": [], "version": v} for v in (1, "2.0", 3)]

    stored = answer(send("POST", "jobs/batch", {"jobs": jobs}), 201)["jobs"]

    assert versions_of(stored) == [1, "2.0", 3]


def test_a_type_has_so_many_versions_at_most(settings: Any) -> None:
    settings.OJS_VERSIONING = {"MAX_VERSIONS": 2}
    push("1.0", type="few.versions")
    push("2.0", type="few.versions")

    error = push("3.0", type="few.versions", status=422)

    assert error["code"] == "x_too_many_versions"
    push("2.0", type="few.versions")
    push("3.0", type="other.versions")


# --- 15.5, contract 22.5: uniqueness -------------------------------------------------------------


@pytest.mark.parametrize(
    ("unique", "differ"),
    [
        ({}, True),
        ({"keys": ["type", "args", "version"]}, True),
        ({"dimensions": ["type", "version"]}, True),
        ({"keys": ["type", "args"]}, False),
        ({"dimensions": ["type"]}, False),
    ],
)
@spec("VER-15.5-a")
def test_versions_are_different_jobs_unless_the_policy_leaves_them_out(
    unique: dict[str, Any], differ: bool
) -> None:
    push("1.0", unique=unique)

    push("2.0", unique=unique, status=201 if differ else 409)
    push(None, unique=unique, status=201 if differ else 409)
    push("1.0", unique=unique, status=409)


@spec("VER-15.5-a")
def test_equal_versions_are_equal_however_they_are_written() -> None:
    push(2, unique={})

    push("2.0", unique={}, status=409)
    push("2.0.7", unique={}, status=409)
    push(type=f"{TYPE}@2", unique={}, status=409)
    push("2.1", unique={})
