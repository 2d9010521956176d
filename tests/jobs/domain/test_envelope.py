"""The job envelope that producers send. Spec: contract 1.1 to 1.7."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.enqueue.draft import JobDraft, attributes
from jobs.domain.enqueue.server_limits import Limits
from jobs.domain.envelope import MANAGED, MEMBERS, parse_job
from jobs.domain.errors import (
    InvalidRequest,
    InvalidRetryPolicy,
    MetadataTooLarge,
    OJSError,
    PayloadTooLarge,
)
from jobs.domain.outcome.retry import RetryPolicy
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from tests.factories import EnvelopeFactory
from tests.spec import spec

ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"


def parsed(**members: Any) -> JobDraft:
    """Parse an envelope with these top-level members."""
    return parse_job(EnvelopeFactory.create(**members))


def refused(**members: Any) -> InvalidRequest:
    """Return the refusal of an envelope."""
    with pytest.raises(InvalidRequest) as caught:
        parsed(**members)
    return caught.value


# --- 1.1: each attribute --------------------------------------------------------------------------


@spec("contract 1.1")
def test_defaults() -> None:
    draft = parse_job({"type": "a", "args": []})

    assert is_id(draft.id)
    assert draft == JobDraft(id=draft.id, type="a", queue="default", args=[], meta={})
    assert attributes(draft) == {
        "tags": [], "timeout_ms": 1_800_000, "retry": RetryPolicy().to_wire(),
    }  # fmt: skip


GOOD: list[tuple[str, Any, str, Any]] = [
    *(("specversion", v, "type", "tests.noop") for v in ("1", "1.0", "1.0.0", "1.0.7-rc.1")),
    ("id", ID, "id", ID),
    *(("type", v, "type", v) for v in ("a", "a.b", "a-b.c_d", "a1.b2", "a" * 255)),
    *(("queue", v, "queue", v) for v in ("a", "0", "a.b-c", "9.", "a" * 128)),
    ("args", [], "args", []),
    ("args", [None, [[]], 1, "a", {"b": []}], "args", [None, [[]], 1, "a", {"b": []}]),
    ("meta", {"a": None, "b": [1]}, "meta", {"a": None, "b": [1]}),
    *(("priority", v, "priority", v) for v in (-100, 0, 100)),
    ("priority", 10.0, "priority", 10),
    *(("priority", v, "priority", 10) for v in ("high", "HIGH", "High")),
    ("priority", "normal", "priority", 0),
    ("priority", "low", "priority", -10),
    ("timeout", 5, "timeout_ms", 5000),
    ("timeout", 0, "timeout_ms", None),
    ("timeout_ms", 1, "timeout_ms", 1),
    ("timeout_ms", 0, "timeout_ms", None),
    ("visibility_timeout", 1, "visibility_ms", 1000),
    ("visibility_timeout_ms", 1000, "visibility_ms", 1000),
    ("scheduled_at", "2026-01-01T00:00:00Z", "scheduled_at", datetime(2026, 1, 1, tzinfo=UTC)),
    ("scheduled_at", "+PT2S", "scheduled_in_ms", 2000),
    ("expires_at", "2020-01-01T00:00:00Z", "expires_at", datetime(2020, 1, 1, tzinfo=UTC)),
    ("expires_at", "+P1DT6H", "expires_in_ms", 108_000_000),
    ("retry", {"max_attempts": 7}, "retry", RetryPolicy(max_attempts=7)),
    ("schema", "urn:x", "schema", "urn:x"),
    ("schema", "https://example.org/s?v=1#f", "schema", "https://example.org/s?v=1#f"),
    ("tags", ["b", "a", "b"], "tags", ["b", "a"]),
    ("tags", ["t" * 128], "tags", ["t" * 128]),
    ("tags", [f"t{n}" for n in range(64)] * 2, "tags", [f"t{n}" for n in range(64)]),
    ("pending", True, "pending", True),
    ("pending", False, "pending", False),
    *(("result_ttl", v, "result_ttl", v) for v in (-1, 0, 1, 86_400)),
    ("result_ttl", 60.0, "result_ttl", 60),
]


@pytest.mark.parametrize(("name", "value", "member", "expected"), GOOD)
@spec("contract 1.1")
def test_a_legal_value_is_taken(name: str, value: Any, member: str, expected: Any) -> None:
    assert getattr(parsed(**{name: value}), member) == expected


OPTIONAL = sorted(MEMBERS - {"type", "args"})


@pytest.mark.parametrize("name", OPTIONAL)
@spec("contract 1.1")
def test_null_means_not_given(name: str) -> None:
    draft = parsed(id=ID, **({} if name == "id" else {name: None}))

    assert draft == parsed(id=ID)


BAD: dict[str, list[Any]] = {
    "specversion": ["2", "1.1", "1.0.", "", "v1", 1, 1.0, True],
    "id": [ID.upper(), ID.replace("7c44", "4c44"), ID[:-1], "", 5, [], f"{ID}\n"],
    "type": [
        None, "", "A", "1a", "a..b", ".a", "a.", "a.1b", "a b", "a.-b", "ä", "a" * 256, 5, [],
        "a\n",
    ],
    "queue": ["", "A", ".a", "-a", "a_b", "a b", "a" * 129, "ä", 5, [], "a\n"],
    "args": [None, {}, "[]", 5, True],
    "meta": [[], "x", 5, True],
    "priority": [-101, 101, 10.5, True, "urgent", "10", "", [], 10**400],
    "timeout": [-1, 1.5, True, "5", [], 10**12],
    "timeout_ms": [-1, 1.5, False, "5", 10**30],
    "visibility_timeout": [0, -1, 1.5, True, "5"],
    "visibility_timeout_ms": [999, 0, -1, True, "5000"],
    "scheduled_at": ["", "tomorrow", "2026-01-01", "PT2S", "+", "+-PT1S", "+P101Y", 5, True],
    "expires_at": ["", "never", "+1h", 5],
    "schema": ["", "x", "/relative", "urn:", "1:x", "a b:c", "urn:x y", 5],
    "tags": ["a", [""], [5], ["t" * 129], [f"t{n}" for n in range(65)], {}, [None]],
    "pending": [0, 1, "true", []],
    "options": [[], "x", 5, True],
    "result_ttl": [-2, 0.5, True, "60", "", [], 10**12, 10**400],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
@spec("contract 1.1")
def test_an_illegal_value_is_refused_naming_the_field(name: str, value: Any) -> None:
    problem = refused(**{name: value})

    assert (problem.status, problem.code, problem.type) == (
        400, "invalid_request", "validation_error",
    )  # fmt: skip
    assert problem.message.startswith(f"{name} ")
    assert [found["field"] for found in problem.details["errors"]] == [name]


@spec("contract 1.7")
def test_all_problems_of_a_job_are_listed_and_the_first_is_named() -> None:
    problem = refused(type="A", queue="B", args={}, priority=1000, tags="x")

    listed = [found["field"] for found in problem.details["errors"]]
    assert sorted(listed) == ["args", "priority", "queue", "tags", "type"]
    assert problem.message.startswith(listed[0])


@spec("contract 1.7")
def test_shape_comes_before_the_retry_policy() -> None:
    refused(queue="B", retry={"max_attempts": -1})

    with pytest.raises(InvalidRetryPolicy):
        parsed(retry={"max_attempts": -1})


@pytest.mark.parametrize("name", ["type", "args"])
@spec("contract 1.1")
def test_type_and_args_are_required(name: str) -> None:
    envelope = EnvelopeFactory.create()
    del envelope[name]

    with pytest.raises(InvalidRequest, match=f"{name} is required"):
        parse_job(envelope)


# --- options --------------------------------------------------------------------------------------

EITHER: list[tuple[str, Any, str, Any]] = [
    ("queue", "b", "queue", "b"),
    ("priority", 5, "priority", 5),
    ("timeout_ms", 7, "timeout_ms", 7),
    ("scheduled_at", "+PT2S", "scheduled_in_ms", 2000),
    ("expires_at", "+PT2S", "expires_in_ms", 2000),
    ("retry", {"max_attempts": 9}, "retry", RetryPolicy(max_attempts=9)),
    ("tags", ["x"], "tags", ["x"]),
    ("visibility_timeout_ms", 2000, "visibility_ms", 2000),
    ("pending", True, "pending", True),
    ("result_ttl", 60, "result_ttl", 60),
]
OTHER = {
    "queue": "other", "priority": 99, "timeout_ms": 99, "scheduled_at": "+PT99S",
    "expires_at": "+PT99S", "retry": {"max_attempts": 99}, "tags": ["other"],
    "visibility_timeout_ms": 99_000, "pending": False, "result_ttl": 99,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value", "member", "expected"), EITHER)
def test_d7_an_attribute_may_stand_in_options_which_wins(
    name: str, value: Any, member: str, expected: Any
) -> None:
    alone = parsed(options={name: value})
    both = parsed(options={name: value}, **{name: OTHER[name]})
    absent = parsed(options={name: None}, **{name: value})

    assert [getattr(draft, member) for draft in (alone, both, absent)] == [expected] * 3


@pytest.mark.parametrize("name", ["type", "args", "id", "meta", "schema", "specversion", "timeout"])
@spec("contract 1.1")
def test_what_belongs_to_the_top_is_ignored_in_options(name: str) -> None:
    assert parsed(id=ID, options={name: "whatever", "unknown": 1}) == parsed(id=ID)


@spec("contract 1.1")
def test_metadata_is_merged_into_meta_which_wins() -> None:
    draft = parsed(meta={"a": 1}, options={"metadata": {"a": 2, "b": 3}})

    assert draft.meta == {"a": 1, "b": 3}


@spec("contract 1.1")
def test_delay_until_is_scheduled_at() -> None:
    assert parsed(options={"delay_until": "+PT2S"}).scheduled_in_ms == 2000
    assert parsed(options={"delay_until": "+PT2S", "scheduled_at": "+PT2S"}).scheduled_in_ms == 2000

    with pytest.raises(InvalidRequest, match="delay_until differs from scheduled_at"):
        parsed(options={"delay_until": "+PT2S", "scheduled_at": "+PT3S"})


@spec("contract 1.1")
def test_max_attempts_of_options_is_an_alias() -> None:
    assert parsed(options={"max_attempts": 7}).retry.max_attempts == 7
    assert parsed(options={"max_attempts": 7, "retry": {"max_attempts": 2}}).retry.max_attempts == 2
    # a top-level max_attempts is set by the server only
    assert parsed(max_attempts=7).retry.max_attempts == 3


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduled", "expires"),
    [
        ("2030-01-01T00:00:00Z", "2029-12-31T23:59:59Z"),
        ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("2030-01-01T00:00:00Z", "2030-01-01T01:00:00+01:00"),
        ("+PT2S", "+PT1S"),
        ("+PT2S", "+PT2S"),
        ("+PT0S", "+PT0S"),
    ],
)
@spec("contract 1.1")
def test_an_expiry_not_after_the_schedule_is_refused(scheduled: str, expires: str) -> None:
    problem = refused(scheduled_at=scheduled, expires_at=expires)

    assert problem.message == "expires_at must be later than scheduled_at"


@spec("contract 1.1")
def test_an_expiry_after_the_schedule_is_taken() -> None:
    assert parsed(scheduled_at="+PT2S", expires_at="+PT2.001S").expires_in_ms == 2001


# --- 1.2, 1.5: members that the server sets, and unknown members ----------------------------------


@pytest.mark.parametrize("name", sorted(MANAGED))
@pytest.mark.parametrize("value", ["x", 5, None, {"a": 1}])
@spec("contract 1.2")
def test_a_clients_value_for_what_the_server_sets_is_dropped(name: str, value: Any) -> None:
    draft = parsed(id=ID, **{name: value})

    assert draft == parsed(id=ID)


@pytest.mark.parametrize(
    "name", ["x_shard_hint", "versions", "traceparent", "Type", "metadata", "", "a b", "ä"]
)
@pytest.mark.parametrize("value", [1, "x", {"a": [None]}, None])
@spec("contract 1.1")
def test_an_unknown_name_is_kept_where_it_was(name: str, value: Any) -> None:
    assert attributes(parsed(**{name: value}))[name] == value


# --- 1.6: limits ----------------------------------------------------------------------------------


def sized(size: int, **members: Any) -> dict[str, Any]:
    """Return an envelope of exactly `size` bytes."""
    envelope = EnvelopeFactory.create(args=[""], **members)
    envelope["args"] = ["x" * (size - len(jsonio.dumps(envelope)))]
    assert len(jsonio.dumps(envelope)) == size
    return dict(envelope)


@spec("contract 1.6")
def test_an_envelope_may_have_its_limit_and_not_a_byte_more() -> None:
    limits = Limits(max_envelope_bytes=1000)
    assert parse_job(sized(1000), limits=limits)

    with pytest.raises(PayloadTooLarge) as caught:
        parse_job(sized(1001), limits=limits)

    assert caught.value.status == 413
    assert (caught.value.details["limit"], caught.value.details["actual"]) == (1000, 1001)


@spec("contract 1.6")
def test_size_is_counted_in_bytes() -> None:
    limits = Limits(max_envelope_bytes=500)

    with pytest.raises(PayloadTooLarge):
        parse_job(EnvelopeFactory.create(args=["ä" * 300]), limits=limits)


@pytest.mark.parametrize("name", ["a", "A.b_c:d-9", "ojs.replay_count", "x" * 128])
@spec("contract 31.3")
def test_a_plain_name_in_meta_is_taken(name: str) -> None:
    assert parsed(meta={name: 1}).meta == {name: 1}


@pytest.mark.parametrize(
    "name", ["", "a b", 'a"', "it's", "<b>", "a/b", "é", "a\n", "x" * 129, "a=b", "a&b"]
)
@pytest.mark.parametrize("place", ["meta", "metadata"])
@spec("contract 31.3")
def test_another_name_in_meta_is_refused(name: str, place: str) -> None:
    sent = {"meta": {name: 1}} if place == "meta" else {"options": {"metadata": {name: 1}}}

    with pytest.raises(InvalidRequest) as refused:
        parsed(**sent)

    assert refused.value.details["field"] == f"meta.{name[:128]}"


@spec("contract 31.3")
def test_a_name_that_an_earlier_release_took_is_kept() -> None:
    sent = EnvelopeFactory.create(meta={"it's": 1})

    assert parse_job(sent, limits=Limits(takes_any_names=True)).meta == {"it's": 1}


@pytest.mark.parametrize("place", ["meta", "metadata"])
@spec("contract 1.6")
def test_meta_may_have_its_limit_and_not_a_byte_more(place: str) -> None:
    limits = Limits(max_meta_bytes=1000)
    fits, large = {"k": "v" * 992}, {"k": "v" * 993}

    def parse(meta: dict[str, str]) -> JobDraft:
        where = {"meta": meta} if place == "meta" else {"options": {"metadata": meta}}
        return parse_job(EnvelopeFactory.create(**where), limits=limits)

    assert parse(fits).meta == fits
    with pytest.raises(MetadataTooLarge) as caught:
        parse(large)
    assert (caught.value.details["limit"], caught.value.details["actual"]) == (1000, 1001)


@spec("contract 1.7")
def test_size_comes_before_shape() -> None:
    with pytest.raises(PayloadTooLarge):
        parse_job({"args": "x" * 2000}, limits=Limits(max_envelope_bytes=1000))


# --- arbitrary values -----------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(sorted(MEMBERS | MANAGED)) | TEXT


@given(st.dictionaries(NAMES, JSON, max_size=6), st.dictionaries(NAMES, JSON, max_size=4))
def test_any_object_is_a_draft_or_a_refusal(raw: dict[str, Any], options: dict[str, Any]) -> None:
    for given_raw in (raw, {**raw, "type": "a", "args": [], "options": options}):
        with suppress(OJSError):
            draft = parse_job(given_raw)
            jsonio.dumps([draft.args, draft.meta, attributes(draft)])
