"""Runbooks in the console: their places, their changes, and procedures as buttons."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from attention.domain.runbook import About, Place, parse_procedure
from attention.models import Finding, Note
from attention.services import notes, procedures
from console.models import Operation
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Audit
from jobs.queries import now
from jobs.services.lanes import queue_config
from tests.asserts import assert_state
from tests.console.test_actions import act, messages_of
from tests.console.test_operations import clean, run_tasks
from tests.console.test_pages import text, url
from tests.factories import JobFactory

__all__ = ["clean"]
pytestmark = pytest.mark.usefixtures("store")
ADA = Caller("ada")
ID = "01890000-0000-7000-8000-000000000001"


def note(about: About, name: str, said: str) -> None:
    notes.write(Place(about, name), said, ADA)


def procedure(name: str = "retry-mail", about: str = "queue", subject: str = "mail") -> None:
    body = {
        "about": about, "subject": subject, "action": "retry", "rate": 50, "reason": "outage",
        "filter": {"queue": "{subject}", "state": "discarded"},
    }  # fmt: skip
    procedures.put(parse_procedure(name, body), ADA)


def finding() -> str:
    Finding.objects.create(
        id=ID, rule="queue_paused", subject="mail", severity=2, since=now(), jobs=2, tenants=1,
        facts={"actor": "ada", "reason": "it floods"},
    )  # fmt: skip
    return url("finding", ID)


def test_the_page_of_a_queue_shows_its_note_and_procedure(console: Client) -> None:
    queue_config.change("mail", {}, ADA)
    note(About.QUEUE, "mail", "Call **the mail team**. <script>")
    procedure()

    page = text(console, url("queue", "mail"))

    assert "<strong>the mail team</strong>. &lt;script&gt;" in page
    assert "Retry: retry-mail" in page


def test_the_list_names_rules_by_title_and_shows_words_of_notes(console: Client) -> None:
    note(About.ALERT, "queue_paused", "Ask **who** paused it.")
    Note.objects.create(about="alert", name="of_an_older_server", text="Old.", updated_by="ada")

    page = text(console, url("runbooks"))

    assert ">rule “A paused queue has jobs”</a>" in page
    assert ">rule “of_an_older_server”</a>" in page
    assert "Ask who paused it." in page
    assert "Note of rule “A paused queue has jobs”, by" in text(console, finding())


def test_the_page_of_a_type_shows_its_note(console: Client) -> None:
    note(About.TYPE, "mail.send", "Look at the relay.")

    assert "Look at the relay." in text(console, url("type", "mail.send"))


def test_a_finding_shows_the_runbooks_of_its_rule_and_queue(console: Client) -> None:
    note(About.ALERT, "queue_paused", "Ask who paused it.")
    note(About.QUEUE, "mail", "Call the mail team.")
    procedure("again", "alert", "queue_paused")

    page = text(console, finding())

    assert page.index("Ask who paused it.") < page.index("Call the mail team.")
    assert "queue=mail" in page
    assert f"{url('finding', ID)}#runbook" in text(console, url("attention"))


def test_a_procedure_leads_to_the_preview_and_can_be_undone(console: Client) -> None:
    dead = JobFactory.create(state=State.DISCARDED, queue="mail").id
    JobFactory.create(state=State.DISCARDED, queue="sms")
    procedure()
    page = console.get(url("queue", "mail"))
    link = page.context["runbook"].steps[0].url
    preview = text(console, link)
    for part in ('value="50"', 'value="outage"', 'name="queue" value="mail"'):
        assert part in preview

    form = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    console.post(url("operation_new"), {**form, "expected": "1"})
    run_tasks()

    operation = Operation.objects.get()
    assert (operation.rate, operation.reason, operation.done) == (50, "outage", 1)
    assert_state(State.AVAILABLE, dead)
    act(console, "undo", id=str(operation.undo_id))
    assert_state(State.DISCARDED, dead)


def test_a_note_is_previewed_saved_and_deleted(console: Client) -> None:
    place = url("note", "queue", "mail")
    preview = console.post(place, {"text": "*soon*", "do": "preview"})
    assert "<em>soon</em>" in preview.content.decode()
    assert not Note.objects.exists()

    saved = console.post(place, {"text": "*now*", "reason": "asked for"})
    assert messages_of(saved) == ["The note of queue mail is saved."]
    assert Audit.objects.get(action="note.written").reason == "asked for"
    wrong = console.post(place, {"text": " "})
    assert wrong.status_code == 400
    assert "must be Markdown that is not empty" in wrong.content.decode()

    act(console, "note-delete", id="queue:mail")
    assert not Note.objects.exists()


def test_a_note_of_an_unknown_kind_is_not_found(console: Client) -> None:
    assert console.get(url("note", "worker", "w1")).status_code == 404
    assert console.get(url("procedure", "nothing")).status_code == 404


def test_a_procedure_is_saved_by_its_form(console: Client) -> None:
    given = {
        "name": "again", "about": "queue", "subject": "mail", "verb": "cancel",
        "queue": "{subject}", "state": "available", "rate": "100",
    }  # fmt: skip
    done = console.post(url("procedure_new"), given)
    assert messages_of(done) == ["Procedure again is saved."]
    found = procedures.find("again")
    assert (found.verb, found.rate) == ("cancel", 100)
    assert dict(found.wanted) == {"state": "available", "queue": "{subject}"}

    for field, wrong in (
        ("rate", "fast"),
        ("state", "completed"),
        ("subject", "M!"),
        ("queue", ""),
    ):
        answer = console.post(url("procedure_new"), {**given, field: wrong})
        assert answer.status_code == 400
        assert answer.context["wrong"].field == field
    act(console, "procedure-delete", id="again")
    assert "again" not in text(console, url("runbooks")).partition("<tbody>")[2]


def client_of(*codenames: str) -> Client:
    user = User.objects.create_user("limited", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_runbooks_need_permits(store: None) -> None:
    queue_config.change("mail", {}, ADA)
    note(About.QUEUE, "mail", "Call the mail team.")
    procedure()
    reader = client_of("view_job", "view_note", "view_procedurerow")

    page = text(reader, url("queue", "mail"))

    assert "Call the mail team." in page
    assert "retry-mail" in page
    assert "operations/new" not in page.partition('id="runbook"')[2].partition("</section>")[0]
    assert "Edit note" not in page
    assert reader.post(url("note", "queue", "mail"), {"text": "x"}).status_code == 403
    assert reader.post(url("procedure", "retry-mail"), {}).status_code == 403
    User.objects.all().delete()
    assert "Call the mail team." not in text(client_of("view_job"), url("queue", "mail"))
