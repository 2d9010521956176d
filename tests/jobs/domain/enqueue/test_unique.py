"""Unique policies, fingerprints and decisions about equal jobs. Spec: contract 6, 22.5."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.enqueue.duplicates import CANCELLED, ENDED, Asked, Candidate, decide
from jobs.domain.enqueue.unique import (
    DEFAULT_STATES,
    DIMENSIONS,
    REPLACING,
    OnConflict,
    Subject,
    UniquePolicy,
    canonical,
    fingerprint,
    read_policy,
)
from jobs.domain.states import CODES, State
from jobs.domain.wire.durations import LONGEST_MS
from tests.spec import spec

NOW = datetime(2026, 5, 4, tzinfo=UTC)
AVAILABLE, SCHEDULED = CODES[State.AVAILABLE], CODES[State.SCHEDULED]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def read(raw: object) -> tuple[UniquePolicy | None, list[tuple[str, str]]]:
    problems: list[tuple[str, str]] = []
    found = read_policy(raw, lambda name, problem, _received: problems.append((name, problem)))
    return found, problems


def policy(**raw: Any) -> UniquePolicy:
    found, problems = read(raw)
    assert not problems
    assert found is not None
    return found


def subject(*args: Any, **facts: Any) -> Subject:
    return Subject(**{"type": "mail.send", "queue": "mail", "args": list(args), "meta": {}} | facts)


# --- 6.1: policy ----------------------------------------------------------------------------------


def test_d29_type_and_args_count_when_nothing_is_named() -> None:
    assert policy().to_wire() == {
        "keys": ["type", "args"],
        "states": ["available", "active", "scheduled", "retryable", "pending"],
        "on_conflict": "reject",
    }


@pytest.mark.parametrize(
    ("raw", "keys", "args_keys"),
    [
        ({"keys": ["args", "type"]}, ["args", "type"], None),
        ({"keys": ["queue"]}, ["type", "queue"], None),  # the type is always included
        ({"keys": ["type", "type"]}, ["type"], None),
        ({"dimensions": ["version"]}, ["type", "version"], None),
        ({"key": "queue"}, ["type", "queue"], None),
        ({"key": ["type", "queue"]}, ["type", "queue"], None),
        ({"key": ["user_id"]}, ["type", "args"], ["user_id"]),
        ({"key": "user_id"}, ["type", "args"], ["user_id"]),
        ({"key": ["queue", "id", "args"], "args_keys": ["to"]}, ["type", "queue", "args"],
         ["to", "id"]),
        ({"keys": ["type"], "key": ["user_id"]}, ["type"], None),  # keys takes precedence
        ({"args_keys": ["to"]}, ["type", "args"], ["to"]),
        ({"keys": None, "period": None, "key": None}, ["type", "args"], None),
    ],
)  # fmt: skip
def test_d30_dimensions_are_normalized(
    raw: dict[str, Any], keys: list[str], args_keys: list[str] | None
) -> None:
    shown = policy(**raw).to_wire()

    assert (shown["keys"], shown.get("args_keys")) == (keys, args_keys)


@pytest.mark.parametrize(
    ("raw", "period"),
    [
        ({"period": "PT90M"}, "PT1H30M"),
        ({"within": "PT5M"}, "PT5M"),
        ({"within": "1h"}, "PT1H"),
        ({"period_ms": 1500}, "PT1.5S"),
        ({"period_ms": 60_000.0}, "PT1M"),
        ({"period": "PT1S", "period_ms": 5, "within": "2s"}, "PT1S"),
    ],
)
@spec("contract 6.1")
def test_the_period_has_three_names(raw: dict[str, Any], period: str) -> None:
    assert policy(**raw).to_wire()["period"] == period


@spec("contract 6.1")
def test_a_normalized_policy_reads_as_itself() -> None:
    raw = {
        "keys": ["type", "args", "meta"], "args_keys": ["a"], "meta_keys": ["b"], "period": "PT1H",
        "states": ["completed"], "on_conflict": "replace_except_schedule", "unknown": [1],
    }  # fmt: skip

    shown = policy(**raw).to_wire()

    assert shown == {name: value for name, value in raw.items() if name != "unknown"}
    assert policy(**shown).to_wire() == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", []), ("keys", ["Type"]), ("keys", "type"), ("keys", [1]), ("keys", {}),
        ("keys", ["type"] * 65), ("key", []), ("key", 5), ("key", [None]),
        ("args_keys", []), ("args_keys", "to"), ("args_keys", [1]),
        ("period", ""), ("period", 5), ("period", "P"), ("period", "-PT1S"), ("period", "PT1X"),
        ("period", "P999Y"), ("within", "5 m"), ("within", []), ("period", "99999999d"),
        ("period", "PT0S"), ("period_ms", 0), ("period_ms", -1), ("period_ms", 1.5),
        ("period_ms", "5"), ("period_ms", True),
        ("period_ms", LONGEST_MS + 1), ("period_ms", 10**300),
        ("states", []), ("states", ["done"]), ("states", "available"), ("states", [None]),
        ("states", [[]]), ("on_conflict", ""), ("on_conflict", "drop"), ("on_conflict", ["reject"]),
        ("on_conflict", 1),
    ],
)  # fmt: skip
@spec("contract 6.1")
def test_a_wrong_member_is_named(name: str, value: object) -> None:
    _, problems = read({name: value})

    assert [field for field, _ in problems] == [f"unique.{name}"]


@pytest.mark.parametrize("raw", [[], "type", 1, True, [["keys"]]])
@spec("contract 6.1")
def test_a_policy_is_an_object(raw: object) -> None:
    assert read(raw) == (None, [("unique", "must be an object")])


@spec("contract 6.1")
def test_meta_needs_its_keys_and_args_keys_need_args() -> None:
    assert [name for name, _ in read({"keys": ["meta"]})[1]] == ["unique.meta_keys"]
    assert [name for name, _ in read({"keys": ["meta"], "meta_keys": []})[1]] == [
        "unique.meta_keys", "unique.meta_keys",
    ]  # fmt: skip
    assert [name for name, _ in read({"keys": ["type"], "args_keys": ["a"]})[1]] == [
        "unique.args_keys"
    ]


def test_no_policy_is_none() -> None:
    assert read(None) == (None, [])


MEMBERS = (
    "keys", "key", "dimensions", "args_keys", "meta_keys", "period", "within", "period_ms",
    "states", "on_conflict",
)  # fmt: skip
NAMES = st.lists(st.sampled_from([*DIMENSIONS, *State]))


@given(JSON | st.dictionaries(st.sampled_from(MEMBERS), JSON | NAMES))
@spec("contract 6.1")
def test_any_value_is_read_or_refused(raw: object) -> None:
    found, problems = read(raw)

    if found is not None and not problems:
        assert policy(**found.to_wire()).to_wire() == found.to_wire()


# --- 6.2: fingerprint -----------------------------------------------------------------------------


@spec("contract 6.2")
def test_the_example() -> None:
    found = fingerprint(policy(args_keys=["to"]), subject({"to": 7, "body": "x"}))

    assert found == sha256(b'{"args":{"to":7},"type":"mail.send"}').hexdigest()


CHANGED = {
    "type": subject(1, type="other", meta={"a": 1}),
    "queue": subject(1, queue="other", meta={"a": 1}),
    "args": subject(2, meta={"a": 1}),
    "meta": subject(1, meta={"a": 2}),
    "version": subject(1, meta={"a": 1}, version="2.0"),
}


@pytest.mark.parametrize("changed", CHANGED)
@pytest.mark.parametrize("name", DIMENSIONS)
@spec("contract 6.2")
def test_a_dimension_takes_part_when_named(name: str, changed: str) -> None:
    asked = policy(keys=[name], **({"meta_keys": ["a"]} if name == "meta" else {}))
    first = fingerprint(asked, subject(1, meta={"a": 1}))

    assert (fingerprint(asked, CHANGED[changed]) != first) == (changed in {name, "type"})


@spec("contract 6.2")
def test_only_the_named_meta_takes_part_and_may_be_missing() -> None:
    asked = policy(keys=["meta"], meta_keys=["a"])

    assert fingerprint(asked, subject(meta={"b": 1})) == fingerprint(asked, subject(meta={"b": 2}))
    assert fingerprint(asked, subject(meta={"a": None})) != fingerprint(asked, subject(meta={}))


@pytest.mark.parametrize(
    ("args", "name", "value"),
    [
        ([{"to": 7}], "to", 7),
        ([{"1": "member"}, "position"], "1", "member"),
        ([{}, "position"], "1", "position"),
        (["position"], "0", "position"),
        ([{"to": None}], "to", None),
    ],
)
@spec("contract 6.2")
def test_arguments_are_picked_by_name_or_position(
    args: list[Any], name: str, value: object
) -> None:
    found = fingerprint(policy(args_keys=[name]), subject(*args))

    text = json.dumps({"args": {name: value}, "type": "mail.send"}, separators=(",", ":"))
    assert found == sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("args", "name"),
    [([], "to"), ([7], "to"), ([{"a": 1}], "to"), ([1], "1"), ([1], "-1"), ([1], "0" * 10),
     ([1], "\u0660"), ([1], ""), ([[{"to": 1}]], "to")],
)  # fmt: skip
@spec("contract 6.2")
def test_an_argument_that_is_missing_is_named(args: list[Any], name: str) -> None:
    with pytest.raises(KeyError) as caught:
        fingerprint(policy(args_keys=[name]), subject(*args))

    assert caught.value.args == (name,)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (0, -0.0), (10**16, 1e16), (2**70, float(2**70)), (-(2**65), float(-(2**65))),
     ("é", "e\u0301"), ({"é": 1}, {"e\u0301": 1}), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
     ([{"x": [1.0]}], [{"x": [1]}])],
)  # fmt: skip
@spec("contract 6.2")
def test_equal_values_have_equal_text(one: object, other: object) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (True, 1), (None, "null"), ([], {}), ([1, 2], [2, 1]), (0.1, 0.10000000000000002),
     (2**70, 2**70 + 1), ("a", "A"), ("ﬁ", "fi")],
)  # fmt: skip
@spec("contract 6.2")
def test_different_values_have_different_text(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


@spec("contract 6.2")
def test_keys_are_sorted_by_code_point_and_blanks_left_out() -> None:
    value = {"\U0001f600": 1, "\uffff": 2, "a": [1.0, {"B": None}], "B": 1.5e300}

    assert (
        canonical(value)
        == ('{"B":' + str(int(1.5e300)) + ',"a":[1,{"B":null}],"\uffff":2,"\U0001f600":1}').encode()
    )


@given(JSON)
@spec("contract 6.2")
def test_the_text_is_json_of_an_equal_value_and_the_same_again(value: Any) -> None:
    text = canonical(value)
    again = json.loads(text)

    assert canonical(again) == text
    assert again == normal(value)


def normal(value: Any) -> Any:
    """Return the value normalized by the rule of contract 6.2, implemented independently."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, dict):
        return {normal(key): normal(item) for key, item in sorted(value.items())}
    return value


@given(st.lists(JSON, max_size=3), st.randoms(use_true_random=False))
@spec("contract 6.2")
def test_the_order_of_members_is_of_no_account(args: list[Any], random: Any) -> None:
    assert fingerprint(policy(), subject(*args)) == fingerprint(
        policy(), subject(*shuffled(args, random))
    )


def shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if isinstance(value, dict):
        items = [(key, shuffled(item, random)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)
    return value


@spec("D-MT-13")
def test_tenants_have_fingerprints_of_their_own() -> None:
    by_tenant = {fingerprint(policy(), subject(tenant=t)) for t in ("_default", "a", "b")}

    assert len(by_tenant) == 3
    assert fingerprint(policy(), subject(tenant="_default")) == fingerprint(policy(), subject())


@pytest.mark.parametrize(
    ("raw", "takes_part"),
    [({}, True), ({"args_keys": ["0"]}, True), ({"keys": ["type", "version"]}, True),
     ({"keys": ["type", "args"]}, False), ({"key": ["type"]}, False)],
)  # fmt: skip
@spec("contract 22.5")
def test_the_version_takes_part_unless_dimensions_leave_it_out(
    raw: dict[str, Any], takes_part: bool
) -> None:
    found = {fingerprint(policy(**raw), subject(1, version=v)) for v in (None, "1.0", "2.0")}

    assert len(found) == (3 if takes_part else 1)


@pytest.mark.parametrize(("one", "other"), [("2", "2.0"), ("2.0", "2.0.1"), (2, "2.0")])
@spec("contract 22.5")
def test_versions_are_compared_by_two_parts(one: str | int, other: str) -> None:
    assert fingerprint(policy(), subject(version=one)) == fingerprint(
        policy(), subject(version=other)
    )
    assert fingerprint(policy(), subject(version=one)) != fingerprint(
        policy(), subject(version="2.1")
    )


# --- 6.3, 11.1: decision --------------------------------------------------------------------------


def known(
    number: int, state: int = AVAILABLE, *, age_s: int = 0, due: int | None = None
) -> Candidate:
    schedule = None if due is None else NOW + timedelta(seconds=due)
    return Candidate(f"stored-{number}", state, NOW - timedelta(seconds=age_s), (schedule, None))


def asked(number: int, key: str | None = "k", **raw: Any) -> Asked:
    return Asked(policy(**raw) if key else None, key, Candidate(f"new-{number}", AVAILABLE, NOW))


@spec("contract 6.3")
def test_a_job_without_policy_neither_hits_nor_is_hit() -> None:
    decision = decide([asked(0, None), asked(1), asked(2, None)], {}, NOW)

    assert [verdict.hit for verdict in decision.verdicts] == [None, None, None]


@pytest.mark.parametrize("state", list(State))
@spec("contract 6.3")
def test_a_hit_is_in_the_states_of_the_new_job(state: State) -> None:
    stored = {"k": [known(1, CODES[state])]}

    (verdict,) = decide([asked(0)], stored, NOW).verdicts
    (other,) = decide([asked(0, states=[state.value])], stored, NOW).verdicts

    assert (verdict.hit is not None) == (state in DEFAULT_STATES)
    assert other.hit is not None


@spec("contract 6.3")
def test_the_period_of_the_new_job_counts_from_the_stored_ones_creation() -> None:
    stored = {"k": [known(1, age_s=60)]}

    assert decide([asked(0, period="PT61S")], stored, NOW).verdicts[0].hit
    assert not decide([asked(0, period="PT60S")], stored, NOW).verdicts[0].hit


@spec("contract 6.3")
def test_of_several_hits_the_newest_counts() -> None:
    stored = {"k": [known(1, age_s=5), known(2, age_s=1), known(3, age_s=9)]}

    (verdict,) = decide([asked(0, on_conflict="ignore")], stored, NOW).verdicts

    assert verdict.hit is not None
    assert (verdict.hit.id, verdict.is_refused) == ("stored-2", False)


@spec("contract 6.3")
def test_replace_cancels_every_live_hit_and_leaves_the_ended_ones() -> None:
    stored = {"k": [known(1), known(2, CODES[State.COMPLETED]), known(3, CODES[State.ACTIVE])]}
    states = ["available", "active", "completed"]

    decision = decide([asked(0, states=states, on_conflict="replace")], stored, NOW)

    assert decision.cancels == ["stored-1", "stored-3"]
    assert decision.verdicts[0].hit is None


@pytest.mark.parametrize(("newest", "taken"), [(SCHEDULED, True), (AVAILABLE, False)])
@spec("contract 6.3")
def test_replace_except_schedule_takes_the_time_of_a_scheduled_newest_hit(
    newest: int, taken: bool
) -> None:
    stored = {"k": [known(1, SCHEDULED, age_s=9, due=50), known(2, newest, age_s=1, due=90)]}

    (verdict,) = decide([asked(0, on_conflict="replace_except_schedule")], stored, NOW).verdicts

    assert verdict.schedule == ((NOW + timedelta(seconds=90), None) if taken else None)


@spec("contract 11.1")
def test_jobs_of_a_batch_are_checked_in_order() -> None:
    jobs = [asked(0), asked(1, on_conflict="ignore"), asked(2), asked(3, "other"),
            asked(4, on_conflict="replace"), asked(5, on_conflict="ignore")]  # fmt: skip

    decision = decide(jobs, {}, NOW)

    assert [v.hit and v.hit.id for v in decision.verdicts] == [
        None, "new-0", "new-0", None, None, "new-4",
    ]  # fmt: skip
    assert [v.is_refused for v in decision.verdicts] == [False, False, True, False, False, False]
    assert decision.cancels == ["new-0"]


@spec("contract 11.1")
def test_what_an_earlier_job_replaced_counts_as_cancelled() -> None:
    jobs = [asked(0, on_conflict="replace"), asked(1, states=["cancelled"])]

    decision = decide(jobs, {"k": [known(1)]}, NOW)

    assert decision.verdicts[1].hit is not None
    assert (decision.verdicts[1].hit.id, decision.verdicts[1].hit.state) == ("stored-1", CANCELLED)


POLICIES = st.builds(
    UniquePolicy,
    period_ms=st.sampled_from([None, 0, 5_000, 50_000]),
    states=st.lists(st.sampled_from(State), min_size=1, max_size=4, unique=True).map(tuple),
    on_conflict=st.sampled_from(OnConflict),
)
ASKED = st.lists(st.tuples(POLICIES, st.sampled_from("ab"), st.sampled_from([1, 2, 3])), max_size=6)
STORED = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 8), st.integers(1, 60)), max_size=6
)


@given(ASKED, STORED)
@spec("contract 6.3")
def test_a_batch_is_decided_as_its_jobs_would_be_one_by_one(
    wanted: list[tuple[UniquePolicy, str, int]], before: list[tuple[str, int, int]]
) -> None:
    stored: dict[str, list[Candidate]] = {}
    for n, (key, state, age_s) in enumerate(before):
        stored.setdefault(key, []).append(known(n, state, age_s=age_s))
    jobs = [
        Asked(asked_policy, key, Candidate(f"new-{n}", state, NOW + timedelta(microseconds=n)))
        for n, (asked_policy, key, state) in enumerate(wanted)
    ]

    decision = decide(jobs, stored, NOW)

    everything = {key: list(rows) for key, rows in stored.items()}
    cancelled: list[str] = []
    for job, verdict in zip(jobs, decision.verdicts, strict=True):
        (alone,) = (one := decide([job], everything, NOW)).verdicts
        assert (alone.hit, alone.is_refused) == (verdict.hit, verdict.is_refused)
        cancelled += one.cancels
        rows = everything.setdefault(job.key or "", [])
        rows[:] = [
            Candidate(row.id, CANCELLED, row.created_at, row.schedule)
            if row.id in one.cancels
            else row
            for row in rows
        ]
        if alone.hit is None:
            state = job.candidate.state
            if alone.schedule is not None and state != CODES[State.PENDING]:
                state = SCHEDULED
            schedule = alone.schedule or job.candidate.schedule
            rows.append(Candidate(job.candidate.id, state, job.candidate.created_at, schedule))
    assert cancelled == decision.cancels
    assert not {row.id for rows in stored.values() for row in rows if row.state in ENDED} & set(
        decision.cancels
    )
    assert all(
        verdict.hit is None for job, verdict in zip(jobs, decision.verdicts, strict=True)
        if job.policy and job.policy.on_conflict in REPLACING
    )  # fmt: skip
