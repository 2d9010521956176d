"""Notes and procedures: bounds, the API, the audit log and the history."""

from typing import Any

import pytest
from django.test import Client

from attention.domain import runbook
from attention.domain.runbook import About, Place, parse_procedure, parse_text
from attention.models import Note, ProcedureRow
from attention.services import notes, procedures
from jobs.api.wire.media import JSON_TYPE
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, InvalidRequest
from jobs.models import Audit, ConfigChange

pytestmark = pytest.mark.usefixtures("store")
BASE = "/ojs/v1/admin/attention"
ADA = Caller("ada", reason="asked for")
BODY: dict[str, Any] = {
    "about": "queue", "subject": "mail", "action": "retry",
    "filter": {"queue": "{subject}", "state": "discarded", "priority": 5}, "rate": 500,
    "reason": "after the outage", "description": "Retries what died.",
}  # fmt: skip


def put(path: str, body: Any) -> Any:
    return Client().put(f"{BASE}/{path}", body, content_type=JSON_TYPE)


def test_a_note_is_written_read_and_deleted() -> None:
    made = put("notes/queue/mail", {"text": "Call **ada**.\r\n"})
    changed = put("notes/queue/mail", {"text": "Call bob."})

    assert (made.status_code, changed.status_code) == (201, 200)
    shown = Client().get(f"{BASE}/notes/queue/mail").json()
    assert (shown["about"], shown["subject"], shown["text"]) == ("queue", "mail", "Call bob.\n")
    assert Client().get(f"{BASE}/notes").json()["notes"] == [shown]
    assert Client().delete(f"{BASE}/notes/queue/mail").status_code == 204
    assert Client().get(f"{BASE}/notes/queue/mail").status_code == 404
    actions = Audit.objects.order_by("id").values_list("action", "target")
    assert list(actions) == [
        ("note.written", "queue mail"), ("note.written", "queue mail"),
        ("note.deleted", "queue mail"),
    ]  # fmt: skip
    first, *_ = ConfigChange.objects.order_by("id")
    assert first.after == {"text": "Call **ada**.\n"}


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("notes/queue/mail", {"text": ""}, 400, "text"),
        ("notes/queue/mail", {"text": 5}, 400, "text"),
        ("notes/queue/mail", {"text": "x" * (runbook.MOST_TEXT + 1)}, 400, "text"),
        ("notes/queue/mail", {"text": "x", "html": "y"}, 400, "html"),
        ("notes/alert/no_rule", {"text": "x"}, 400, "subject"),
        ("notes/worker/w1", {"text": "x"}, 404, None),
        ("notes/queue/No%20name", {"text": "x"}, 404, None),
        ("procedures/Not%20a%20name", BODY, 400, "name"),
        ("procedures/a", {**BODY, "name": "b"}, 400, "name"),
        ("procedures/a", {**BODY, "about": "worker"}, 400, "about"),
        ("procedures/a", {**BODY, "about": "alert", "subject": "no_rule"}, 400, "subject"),
        ("procedures/a", {**BODY, "subject": "Mail!"}, 400, "subject"),
        ("procedures/a", {**BODY, "action": "export"}, 400, "action"),
        ("procedures/a", {**BODY, "filter": []}, 400, "filter"),
        ("procedures/a", {**BODY, "filter": {}}, 400, "filter"),
        ("procedures/a", {**BODY, "filter": {"state": "discarded"}}, 400, "filter"),
        ("procedures/a", {**BODY, "filter": {"queue": "a", "args": "x"}}, 400, "filter.args"),
        ("procedures/a", {**BODY, "filter": {"queue": "a\n"}}, 400, "filter.queue"),
        ("procedures/a", {**BODY, "filter": {"type": "x" * 256}}, 400, "filter.type"),
        ("procedures/a", {**BODY, "filter": {"queue": "a", "state": "active"}}, 400,
         "filter.state"),
        ("procedures/a", {**BODY, "filter": {"queue": "a", "priority": "loud"}}, 400,
         "filter.priority"),
        ("procedures/a", {**BODY, "rate": 9}, 400, "rate"),
        ("procedures/a", {**BODY, "rate": True}, 400, "rate"),
        ("procedures/a", {**BODY, "reason": "r" * 1001}, 400, "reason"),
        ("procedures/a", {**BODY, "description": 5}, 400, "description"),
        ("procedures/a", {**BODY, "owner": "ada"}, 400, "owner"),
    ],
)  # fmt: skip
def test_wrong_input_names_the_member(path: str, body: Any, status: int, field: str | None) -> None:
    answer = put(path, body)

    assert answer.status_code == status
    assert answer.json()["error"]["details"].get("field") == field
    assert not Note.objects.exists()
    assert not ProcedureRow.objects.exists()


def test_a_procedure_is_saved_read_and_deleted() -> None:
    assert put("procedures/retry-mail", BODY).status_code == 201
    assert put("procedures/retry-mail", {**BODY, "rate": 50}).status_code == 200

    shown = Client().get(f"{BASE}/procedures/retry-mail").json()
    assert shown == {**BODY, "name": "retry-mail", "rate": 50}
    assert Client().get(f"{BASE}/procedures").json()["procedures"] == [shown]
    assert Client().delete(f"{BASE}/procedures/retry-mail").status_code == 204
    assert Client().get(f"{BASE}/procedures/retry-mail").status_code == 404
    assert Client().delete(f"{BASE}/procedures/retry-mail").status_code == 404


def test_the_filter_of_a_procedure_goes_through_the_bulk_endpoints() -> None:
    put("procedures/retry-mail", {**BODY, "filter": {"queue": "mail", "state": "discarded"}})
    found = Client().get(f"{BASE}/procedures/retry-mail").json()
    body = {"action": found["action"], "filter": found["filter"]}

    answer = Client().post("/ojs/v1/admin/jobs/bulk/preview", body, content_type=JSON_TYPE)

    assert (answer.status_code, answer.json()["matched"]) == (200, 0)


def test_a_procedure_is_for_the_subject() -> None:
    found = parse_procedure("a", BODY)

    assert found.filter_for("sms") == {"state": "discarded", "queue": "sms", "priority": "5"}


def test_notes_and_procedures_of_objects_take_one_statement_each(
    django_assert_num_queries: Any,
) -> None:
    places = [Place(About.ALERT, "queue_paused"), Place(About.QUEUE, "mail")]
    for place in reversed(places):
        notes.write(place, "Call ada.", ADA)
    procedures.put(parse_procedure("b", BODY), ADA)
    procedures.put(parse_procedure("a", {**BODY, "subject": "sms"}), ADA)

    with django_assert_num_queries(2):
        assert [one.about for one in notes.of(places)] == ["alert", "queue"]
        assert [one.name for one in procedures.of(places)] == ["b"]
    assert notes.of([]) == []


def test_the_numbers_of_notes_and_procedures_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "MOST_NOTES", 1)
    monkeypatch.setattr(procedures, "MOST_PROCEDURES", 1)
    notes.write(Place(About.QUEUE, "mail"), "x", ADA)
    procedures.put(parse_procedure("a", BODY), ADA)

    with pytest.raises(Conflict):
        notes.write(Place(About.QUEUE, "sms"), "x", ADA)
    with pytest.raises(Conflict):
        procedures.put(parse_procedure("b", BODY), ADA)
    notes.write(Place(About.QUEUE, "mail"), "y", ADA)
    procedures.put(parse_procedure("a", BODY), ADA)


def test_lines_end_in_line_feeds() -> None:
    assert parse_text("a\r\nb\rc  \n\n") == "a\nb\nc\n"
    with pytest.raises(InvalidRequest):
        parse_text(" \n")
