"""The history of the configuration: versions, differences, restores and undo, for each kind."""

import pytest

from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.models import Audit, ConfigChange, Queue, Undo
from jobs.services.audit import config_log
from jobs.services.audit.undo_log import HEADER
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import queue_config
from jobs.services.operate import history, undo
from jobs.services.operate.queue_removal import delete_by
from tests.configured import CASES, Case
from tests.factories import DraftFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")
KINDS = sorted(CASES)


def test_each_kind_has_a_case() -> None:
    assert CASES.keys() == history.kinds().keys()


def changes(kind: str) -> list[ConfigChange]:
    """Return the changes of the object of a case, the first first."""
    name = CASES[kind].name
    found = ConfigChange.objects.filter(kind=kind).order_by("id")
    return list(found if kind == "webhook" else found.filter(name=name))


def made(kind: str) -> tuple[Case, ConfigChange, ConfigChange]:
    """Make both versions of an object; returns their changes."""
    case = CASES[kind]
    case.make()
    case.first(Caller("ada", reason="first"))
    case.second(Caller("bob", reason="second"))
    first, second = changes(kind)[-2:]
    return case, first, second


@pytest.mark.parametrize("kind", KINDS)
def test_each_change_leaves_a_version_with_actor_and_reason(kind: str) -> None:
    _, first, second = made(kind)

    assert (first.actor, first.reason) == ("ada", "first")
    assert (second.actor, second.reason) == ("bob", "second")
    assert second.before == first.after
    assert second.before != second.after


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_version_equals_the_version(kind: str) -> None:
    _, first, second = made(kind)
    seen = history.preview(first.pk)
    assert seen.present == second.after
    assert seen.differences

    history.restore(first.pk, Caller("eve"), expected=seen.expected)

    last = changes(kind)[-1]
    assert (last.before, last.after) == (second.after, first.after)
    assert (last.actor, last.restored) == ("eve", first.pk)


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_undone_and_the_undo_as_well(kind: str) -> None:
    case, first, second = made(kind)
    who = Caller("ada")
    case.first(who)

    done = undo.undo(int(who.answer_headers[HEADER]), who)

    assert done.state == "undone"
    assert history.preview(second.pk).differences == []
    undo.undo(int(who.answer_headers[HEADER]), who)
    assert history.preview(first.pk).differences == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if CASES[kind].can_vanish])
def test_the_first_change_is_undone(kind: str) -> None:
    case = CASES[kind]
    case.make()
    who = Caller("ada")
    case.first(who)
    (*_, first) = changes(kind)

    undo.undo(int(who.answer_headers[HEADER]), who)

    assert changes(kind)[-1].after == first.before


def test_a_restore_is_refused_if_the_object_changed_since_the_preview() -> None:
    case, first, _ = made("queue")
    seen = history.preview(first.pk)
    queue_config.change("mail", {"concurrency": 7}, Caller("bob"))

    with pytest.raises(Conflict, match="queue mail was changed again since"):
        history.restore(first.pk, Caller("eve"), expected=seen.expected)

    assert Queue.objects.get(name=case.name).config["concurrency"] == 7


def test_an_undo_is_refused_if_the_object_changed_since() -> None:
    who = Caller("ada")
    queue_config.change("mail", {"concurrency": 5}, Caller("bob"))
    queue_config.change("mail", {"concurrency": 7}, who)
    queue_config.change("mail", {"concurrency": 9}, Caller("bob"))

    with pytest.raises(Conflict, match="changed again since"):
        undo.undo(int(who.answer_headers[HEADER]), who)

    assert Undo.objects.get(pk=who.answer_headers[HEADER]).state == "done"
    assert not Audit.objects.filter(action="operation.undo_started").exists()


def test_a_change_without_a_difference_leaves_no_version() -> None:
    queue_config.change("mail", {"concurrency": 5}, Caller("ada"))
    who = Caller("ada")

    queue_config.change("mail", {"concurrency": 5}, who)

    assert ConfigChange.objects.count() == 1
    assert HEADER not in who.answer_headers


def test_a_refused_change_leaves_no_version() -> None:
    with pytest.raises(InvalidRequest):
        queue_config.change("mail", {"concurrency": -5}, Caller("ada"))

    assert not ConfigChange.objects.exists()
    assert not Undo.objects.exists()


def test_a_rate_limit_that_a_job_sets_names_the_producer_and_offers_no_undo() -> None:
    who = Caller("shop")

    enqueue([DraftFactory.create(queue="mail", rate_limit={"limit": 5, "period": "PT1M"})], who)

    change = ConfigChange.objects.get()
    assert (change.actor, change.action) == ("shop", queue_config.SET_BY_JOB)
    assert HEADER not in who.answer_headers


def test_the_deletion_of_a_queue_and_its_undo_are_in_the_history() -> None:
    stored_ids(1, queue="mail")
    queue_config.change("mail", {"concurrency": 5}, Caller("ada"))
    who = Caller("bob")
    delete_by(who, "mail", "discard")
    undo.undo(int(who.answer_headers[HEADER]), Caller("eve"))

    *_, gone, back = changes("queue")
    assert (gone.actor, gone.action, gone.after) == ("bob", "queue.deleted", None)
    assert (back.actor, back.before, back.after) == ("eve", None, {"concurrency": 5})


def test_a_queue_that_did_not_exist_is_not_restored() -> None:
    queue_config.create("mail", {"concurrency": 5}, Caller("ada"))
    delete_by(Caller("bob"), "mail", "reject")
    gone = ConfigChange.objects.latest("id")
    queue_config.create("mail", {}, Caller("ada"))

    with pytest.raises(Conflict, match="did not exist then"):
        history.restore(gone.pk, Caller("eve"), expected=history.preview(gone.pk).expected)


def test_the_oldest_changes_of_an_object_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_log, "MOST", 3)
    for size in range(1, 6):
        queue_config.change("mail", {"concurrency": size}, Caller("ada"))
    queue_config.change("sms", {"concurrency": 1}, Caller("ada"))

    kept = [one.after["concurrency"] for one in changes("queue") if one.after]
    assert kept == [3, 4, 5]
    assert ConfigChange.objects.filter(name="sms").count() == 1


def test_an_unknown_change_is_not_found() -> None:
    with pytest.raises(NotFound):
        history.preview(2**62)
