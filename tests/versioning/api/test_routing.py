"""Selection of workers by job version. Spec: job-versioning 8; contract 22.3."""

from typing import Any

import pytest

from jobs.services.lanes import bindings
from jobs.services.upkeep.reset import clear_caches
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.wire import TYPE, beat, declares, fetched, push, versions_of

pytestmark = pytest.mark.usefixtures("store")


@spec("VER-8.1-a")
def test_a_declaration_by_heartbeat_counts_for_later_fetches() -> None:
    declares("w1", ">=1.0 <2.0")
    push("2.0")
    push("1.5")

    assert versions_of(fetched("w1")) == ["1.5"]


@spec("VER-8.1-a")
def test_a_declaration_by_registration_counts_for_later_fetches() -> None:
    body = {"worker_id": "w1", "handlers": [{"type": TYPE, "versions": "1.0"}]}
    answer(send("POST", "workers/register", body))
    push("2.0")
    push("1.0")

    assert versions_of(fetched("w1")) == ["1.0"]
    shown = answer(send("GET", "admin/workers/w1"))
    assert shown["handlers"] == [TYPE]


@spec("VER-8.1-a")
def test_other_processes_hear_of_it() -> None:
    declares("w1", "1.0")
    push("2.0")
    bindings.clear_cache()  # as a process that never saw the worker

    assert fetched("w1") == []
    declares("w1", "2.0")
    bindings.clear_cache()
    assert versions_of(fetched("w1")) == ["2.0"]


@spec("VER-8.1-a")
def test_a_heartbeat_without_handlers_keeps_them_and_an_empty_list_clears_them() -> None:
    declares("w1", "1.0")
    push("2.0")

    beat("w1")
    assert fetched("w1") == []
    beat("w1", [])
    assert versions_of(fetched("w1")) == ["2.0"]


@spec("VER-8.1-a")
def test_what_a_fetch_says_comes_first() -> None:
    declares("w1", "1.0")
    for version in ("1.0", "2.0"):
        push(version)

    assert versions_of(fetched("w1", handlers=[{"type": TYPE, "versions": "2.0"}])) == ["2.0"]
    assert versions_of(fetched("w1")) == ["1.0"]


FORMS = [
    ("*", ["1.0", "1.9", "2.0", "3.0", None]),
    (None, ["1.0", "1.9", "2.0", "3.0", None]),
    ("2.0", ["2.0", None]),
    (">=1.0 <3.0", ["1.0", "1.9", "2.0", None]),
    (">=1.0, <3.0", ["1.0", "1.9", "2.0", None]),
    (">=2.0", ["2.0", "3.0", None]),
]


@pytest.mark.parametrize(("versions", "accepted"), FORMS)
@spec("VER-8.1-b")
def test_each_form_of_a_range_is_delivered(
    versions: str | None, accepted: list[str | None]
) -> None:
    for version in ("1.0", "1.9", "2.0", "3.0", None):
        push(version)

    found = fetched("w1", handlers=[{"type": TYPE, "versions": versions}])

    assert sorted(versions_of(found), key=str) == sorted(accepted, key=str)


@spec("VER-8.2-a")
def test_versions_never_cross() -> None:
    declares("w1", ">=1.0 <2.0")
    declares("w2", ">=2.0 <3.0")
    for n in range(30):
        push(f"{1 + n % 2}.{n % 3}")

    assert {str(v)[0] for v in versions_of(fetched("w1", 100))} == {"1"}
    assert {str(v)[0] for v in versions_of(fetched("w2", 100))} == {"2"}


@spec("VER-7.2-b")
def test_a_worker_of_one_major_never_gets_another() -> None:
    push("2.0")

    assert fetched(handlers=[{"type": TYPE, "versions": ">=1.0, <2.0"}]) == []
    assert versions_of(fetched(handlers=[{"type": TYPE, "versions": ">=1.0"}])) == ["2.0"]


@spec("VER-8.2-b")
def test_priority_counts_among_the_compatible() -> None:
    push("9.0", priority=100)
    push("1.0", priority=1)
    push("1.1", priority=5)
    push(None, priority=3)

    found = fetched(handlers=[{"type": TYPE, "versions": ">=1.0 <2.0"}])

    assert versions_of(found) == ["1.1", None, "1.0"]


@spec("VER-8.2-c")
def test_what_nobody_accepts_stays_available_and_lets_others_pass() -> None:
    held = push("9.0", priority=100)
    push("1.0", priority=-100)
    declares("w1", "1.0")

    assert versions_of(fetched("w1")) == ["1.0"]
    assert fetched("w1") == []
    shown = answer(send("GET", f"jobs/{held['id']}"))["job"]
    assert (shown["state"], shown["attempt"]) == ("available", 0)
    declares("w2", ">=9.0")
    assert versions_of(fetched("w2")) == ["9.0"]


@pytest.mark.parametrize("versions", ["2.0", "<1.0", "*"])
@spec("VER-5.2-b", "VER-15.4-a", "VER-8.2-d")
def test_jobs_without_a_version_go_to_any_worker(versions: str) -> None:
    push()

    assert versions_of(fetched(handlers=[{"type": TYPE, "versions": versions}])) == [None]


@spec("VER-8.1")
def test_types_that_are_not_named_are_accepted_unless_the_worker_is_exclusive() -> None:
    push("1.0", type="other.type")
    handlers = [{"type": TYPE, "versions": "1.0"}]

    assert fetched(handlers=handlers, handlers_exclusive=True) == []
    assert versions_of(fetched(handlers=handlers)) == ["1.0"]


@spec("VER-8.1")
def test_entries_of_one_type_add_up() -> None:
    for version in ("1.0", "2.0", "3.0"):
        push(version)
    handlers = [{"type": TYPE, "versions": "1.0"}, {"type": TYPE, "versions": ">=3.0"}]

    assert sorted(map(str, versions_of(fetched(handlers=handlers)))) == ["1.0", "3.0"]


@spec("D-VER-5")
def test_workers_that_declare_nothing_get_all() -> None:
    push(3)

    assert versions_of(fetched("w1")) == [3]


@spec("D-VER-5")
def test_where_a_declaration_is_required_they_get_jobs_without_a_version_alone(
    settings: Any,
) -> None:
    settings.OJS_VERSIONING = {"REQUIRE_DECLARATION": True}
    push(3)
    push()

    assert versions_of(fetched("w1")) == [None]
    assert fetched() == []
    declares("w1", "*")
    assert versions_of(fetched("w1")) == [3]


def test_a_version_that_is_new_to_a_process_is_accepted_at_once() -> None:
    declares("w1", ">=1.0")
    push("1.0")
    assert versions_of(fetched("w1")) == ["1.0"]  # now the process knows all existing version keys
    push("1.77")  # a version key that is new to the process

    assert versions_of(fetched("w1")) == ["1.77"]


@spec("VER-15.2-a")
def test_none_of_this_needs_a_registry() -> None:
    clear_caches()
    push("2.0")

    assert versions_of(fetched(handlers=[{"type": TYPE, "versions": "2.0"}])) == ["2.0"]


@pytest.mark.parametrize(
    ("handlers", "field", "code"),
    [
        ([{"type": TYPE, "versions": "^1.0"}], "handlers[0].versions", "invalid_version_range"),
        ([{"type": TYPE, "versions": "2.x"}], "handlers[0].versions", "invalid_version_range"),
        ([{"type": TYPE, "versions": ">=2.0, <1.0"}], "handlers[0].versions",
         "invalid_version_range"),
        ([{"type": TYPE, "versions": 2}], "handlers[0].versions", "invalid_version_range"),
        ([TYPE, {"type": TYPE, "versions": ""}], "handlers[1].versions", "invalid_version_range"),
        ([{"type": "Bad"}], "handlers[0].type", "invalid_request"),
        ([{"type": f"{TYPE}@2.0"}], "handlers[0].type", "invalid_request"),
        ([{"versions": "*"}], "handlers[0].type", "invalid_request"),
        ([{"type": TYPE, "version": "*"}], "handlers[0].version", "invalid_request"),
        ([{"type": TYPE, "accept_unversioned": 0}], "handlers[0].accept_unversioned",
         "invalid_request"),
        ([7], "handlers[0]", "invalid_request"),
        ([[]], "handlers[0]", "invalid_request"),
        ([TYPE] * 10_000, "handlers", "invalid_request"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["workers/heartbeat", "workers/register", "workers/fetch"])
@spec("VER-15.1-a")
def test_wrong_declarations_are_refused_with_their_place(
    path: str, handlers: Any, field: str, code: str
) -> None:
    body = {"worker_id": "w1", "handlers": handlers, "queues": ["default"]}

    error = answer(send("POST", path, body), 422)["error"]

    assert (error["code"], error["details"]["field"]) == (code, field)


@pytest.mark.parametrize("body", [{"handlers": "x"}, {"handlers": {}}, {"handlers": 1}])
def test_handlers_are_a_list(body: dict[str, Any]) -> None:
    error = answer(send("POST", "workers/heartbeat", {"worker_id": "w1", **body}), 400)["error"]

    assert error["details"]["field"] == "handlers"
