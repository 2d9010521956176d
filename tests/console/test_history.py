"""The pages of the history: the list, a version with its restore, undo, and their permits."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from console.history import PLACES
from jobs.domain.access.caller import Caller
from jobs.models import Audit, ConfigChange, Queue, Undo
from jobs.queries import now
from jobs.services.lanes import queue_config
from jobs.services.operate import history
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tests.configured import CASES
from tests.console.test_actions import act, messages_of
from tests.console.test_pages import text, url

pytestmark = pytest.mark.usefixtures("store")


def sized(size: int, name: str = "mail", actor: str = "ada") -> ConfigChange:
    """Change the concurrency of a queue."""
    queue_config.change(name, {"concurrency": size}, Caller(actor, reason=f"reason {size}"))
    return ConfigChange.objects.latest("id")


def test_the_list_names_object_actor_reason_and_difference(console: Client) -> None:
    sized(5)
    sized(9, actor="console:bob")

    page = text(console, url("history"))

    for word in ("mail", "bob", "reason 9", "concurrency", "5 →\n9", "Created"):
        assert word in page
    assert "{" not in page.partition("<tbody>")[2].partition("</tbody>")[0]


def test_the_list_filters_by_object_actor_and_time(console: Client) -> None:
    first = sized(5)
    ConfigChange.objects.filter(pk=first.pk).update(at=now() - timedelta(days=2))
    second = sized(6, "sms", "bob")
    pools.put(parse_pool("fast", {"queues": ["mail"]}), Caller("eve"))

    def numbers(**query: str) -> list[int]:
        answer = console.get(url("history", **query))
        return [row.change.pk for row in answer.context["rows"]]

    assert numbers(kind="queue") == [second.pk, first.pk]
    assert numbers(kind="queue", name="mail") == [first.pk]
    assert numbers(actor="bob") == [second.pk]
    since = (now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    assert first.pk not in numbers(since=since)
    assert numbers(until=since) == [first.pk]


def test_the_list_has_pages(console: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.views.history.SIZE", 2)
    for size in (1, 2, 3):
        sized(size)

    first = console.get(url("history")).context
    second = console.get(f"{url('history')}?{first['next_link']}").context

    sizes = [row.change.after["concurrency"] for row in (*first["rows"], *second["rows"])]
    assert sizes == [3, 2, 1]
    assert second["next_link"] == ""


def test_a_version_is_restored_with_a_reason(console: Client) -> None:
    first = sized(5)
    sized(9)
    page = console.get(url("version", str(first.pk)))
    assert "What changes" in page.content.decode()
    form = {"expected": page.context["seen"].expected, "reason": "a mistake"}

    answer = console.post(url("version", str(first.pk)), form)

    assert messages_of(answer) == [f"Queue mail is as it was after change {first.pk}."]
    assert Queue.objects.get(name="mail").config["concurrency"] == 5
    entry = Audit.objects.latest("id")
    assert (entry.action, entry.reason) == ("queue.config_restored", "a mistake")
    assert "This version is in force" in text(console, url("version", str(first.pk)))


def test_a_restore_after_another_change_is_refused_and_shows_the_new_preview(
    console: Client,
) -> None:
    first = sized(5)
    sized(9)
    expected = history.preview(first.pk).expected
    sized(7)

    answer = console.post(url("version", str(first.pk)), {"expected": expected})

    assert answer.status_code == 409
    page = answer.content.decode()
    assert "changed again since" in page
    assert "<del>7</del>" in page
    assert Queue.objects.get(name="mail").config["concurrency"] == 7


@pytest.mark.parametrize("kind", sorted(CASES))
def test_each_kind_has_pages(console: Client, kind: str) -> None:
    case = CASES[kind]
    case.make()
    case.first(Caller("ada"))
    case.second(Caller("ada"))
    change = ConfigChange.objects.filter(kind=kind).latest("id")

    assert case.name in text(console, url("history", kind=kind)) or kind == "webhook"
    assert history.kinds()[kind].label in text(console, url("version", str(change.pk)))
    assert kind in PLACES or kind in {"note", "procedure", "queue_template", "schedule", "schema"}


def limited(*codenames: str) -> Client:
    """Return the client of a user with single permissions."""
    user = User.objects.create_user("limited", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_a_user_sees_and_restores_only_kinds_of_own_permits(store: None) -> None:
    first = sized(5)
    pools.put(parse_pool("fast", {"queues": ["mail"]}), Caller("eve"))
    pool = ConfigChange.objects.latest("id")
    sized(9)
    client = limited("view_job", "view_configchange", "change_configchange")
    form = {"expected": history.preview(first.pk).expected}

    page = text(client, url("version", str(first.pk)))
    answer = client.post(url("version", str(first.pk)), form)

    assert "lacks the permission ojs_jobs.configure_queue" in page
    assert answer.status_code == 403
    assert Queue.objects.get(name="mail").config["concurrency"] == 9
    assert client.get(url("version", str(pool.pk))).status_code == 200
    assert limited_without_jobs().get(url("version", str(pool.pk))).status_code == 404


def limited_without_jobs() -> Client:
    """Return the client of a user who sees the history, but no kind of it."""
    User.objects.get(username="limited").delete()
    return limited("view_configchange")


def test_the_message_after_a_change_offers_its_undo(console: Client) -> None:
    sized(5)
    form = {"config": '{"concurrency": 9}'}
    answer = console.post(url("queue", "mail"), form)
    number = Undo.objects.latest("pk").pk
    assert f'name="id" value="{number}"' in text(console, answer["Location"])

    done = act(console, "undo", id=str(number))

    assert messages_of(done) == ["Undone: queue.config_changed of mail."]
    assert Queue.objects.get(name="mail").config["concurrency"] == 5
    assert "undone" in text(console, url("operations"))


def test_an_undo_of_a_configuration_needs_the_permit_of_its_kind(store: None) -> None:
    sized(5)
    sized(9)
    number = Undo.objects.latest("pk").pk
    client = limited("view_job", "change_job", "delete_job")

    answer = act(client, "undo", id=str(number))

    assert answer.status_code == 403
    assert Queue.objects.get(name="mail").config["concurrency"] == 9
