"""The reason of a form: one bound, for all forms alike."""

import re

import pytest
from django.test import Client

from console.models import Operation
from console.pages import PAGES
from jobs.domain.access.caller import MAX_REASON
from jobs.models import Audit
from tests.console.presses import FORMS, TEMPLATE
from tests.console.test_actions import act, messages_of
from tests.factories import stored_ids

TOO_LONG = "x" * (MAX_REASON + 1)
WITHOUT_REASON = {"display", "columns", "within", "operation", "api_key_rotate"}


@pytest.mark.parametrize("name", sorted(FORMS.keys() - WITHOUT_REASON))
def test_a_form_offers_the_whole_bound_and_refuses_more(console: Client, name: str) -> None:
    path = FORMS[name].make().partition("?")[0]
    assert name in {page.name for page in PAGES}
    fields = re.findall(r'name="reason" maxlength="(\d+)"', console.get(path).content.decode())
    assert set(fields) <= {str(MAX_REASON)}
    before = Audit.objects.count()

    answer = console.post(path, {"verb": "cancel", "reason": TOO_LONG})

    assert answer.status_code in {400, 404}
    assert Audit.objects.count() == before


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("queues/mail/", {"config": "{}"}),
        ("queues/mail/", {"concurrency": "3"}),
        ("operations/new/", {"verb": "cancel", "state": "available"}),
        ("runbooks/notes/queue/mail/", {"text": "Call ada."}),
        ("cron/new/", {"name": "n", "expression": "0 * * * *", "template": TEMPLATE}),
    ],
)
def test_a_longer_reason_is_refused_by_its_name(
    console: Client, path: str, form: dict[str, str]
) -> None:
    stored_ids(1, queue="mail")

    answer = console.post(f"/console/{path}", {**form, "reason": TOO_LONG})

    assert answer.status_code == 400
    assert f"eason must have at most {MAX_REASON} characters" in answer.content.decode()
    assert not Operation.objects.exists()


def test_an_action_refuses_a_longer_reason_by_its_name(console: Client) -> None:
    stored_ids(1, queue="mail")

    (said,) = messages_of(act(console, "pause", id="mail", reason=TOO_LONG))

    assert said == f"Reason must have at most {MAX_REASON} characters."
    assert messages_of(act(console, "pause", id="mail", reason=TOO_LONG[1:]))[-1] != said
    assert Audit.objects.get(action="queue.paused").reason == TOO_LONG[1:]
