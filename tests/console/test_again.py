"""The texts that enqueue a job again, and the buttons that copy."""

import ast
import json
import shlex
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from console import again
from console.again import request_of
from jobs.domain.job import Job
from jobs.models import Job as Row
from jobs.services.read.show import show
from ojs_tasks.arguments import joined
from tests.console.conftest import WAIT_MS
from tests.factories import JobFactory

expect.set_options(timeout=WAIT_MS)
ADDRESS = "https://jobs.example.org/ojs/v1/jobs"


def made(**envelope: Any) -> Job:
    """Store a job and return it."""
    return show(JobFactory.create(**envelope).id)


def shown_page(client: Client, job: Job) -> str:
    """Return the text of a job's page."""
    return client.get(reverse("ojs_console:job", args=[job.id])).content.decode()


def texts(job: Job) -> again.Again:
    """Return the texts of a job that has them."""
    found = again.again(job, ADDRESS)
    assert found
    return found


def test_the_command_sends_a_request_that_makes_such_a_job(store: None, client: Client) -> None:
    job = made(type="mail.send", queue="mail", priority=3, args=["it's", {"a": [1, None, True]}])

    words = shlex.split(texts(job).curl.replace("\\\n", ""))

    assert words[:4] == ["curl", "-X", "POST", ADDRESS]
    assert words[5] == "Authorization: Bearer $OJS_API_KEY"
    body = json.loads(words[9])
    assert body == request_of(job)
    answer = client.post("/ojs/v1/jobs", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    newest = Row.objects.latest("id")
    assert str(newest.id) != job.id
    assert (newest.type, newest.queue, newest.priority) == ("mail.send", "mail", 3)
    assert newest.args == ["it's", {"a": [1, None, True]}]


def test_the_call_has_the_arguments_and_the_options_of_the_job(store: None) -> None:
    job = made(
        queue="mail", priority=-2, version="2.1.0", args=joined(["it's", None], {"pages": 3}),
        meta={"tenant_id": "blue", "order": 7}, tenant="blue",
    )  # fmt: skip

    text = texts(job).python

    call = ast.parse(text).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert [ast.literal_eval(one) for one in call.value.args] == ["it's", None]
    assert {one.arg: ast.literal_eval(one.value) for one in call.value.keywords} == {"pages": 3}
    options = call.value.func.value  # type: ignore[attr-defined]  # an attribute of a call
    assert {one.arg: ast.literal_eval(one.value) for one in options.keywords} == {
        "queue": "mail", "tenant": "blue", "meta": {"order": 7}, "priority": -2,
        "version": "2.1.0",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "shown"),
    [([], "enqueue()"), ([{"__kwargs__": {"class": 1}}], "enqueue(**{'class': 1})"),
     ([{"__kwargs__": 5}], "enqueue({'__kwargs__': 5})"), ([{"a": 1}], "enqueue({'a': 1})")],
)  # fmt: skip
def test_unusual_arguments_are_a_valid_call(store: None, args: list[Any], shown: str) -> None:
    text = texts(made(args=args)).python

    ast.parse(text)
    assert text.endswith(shown)


def test_a_classified_job_and_a_long_job_have_no_texts(console: Client) -> None:
    hidden = made(args=["4111-1111"], meta={"data_classification": "restricted"})
    long = made(args=["x" * again.MOST_BYTES])

    assert again.again(hidden, ADDRESS) is again.again(long, ADDRESS) is None
    assert "4111-1111" not in shown_page(console, hidden)
    for job in (hidden, long):
        assert "Enqueue such a job" not in shown_page(console, job)


def test_the_page_has_no_secret_and_shows_html_as_text(console: Client) -> None:
    shown = shown_page(console, made(args=["<script>alert(1)</script>"]))

    assert "$OJS_API_KEY" in shown
    assert "http://testserver/ojs/v1/jobs" in shown
    assert "<script>alert" not in shown


def test_buttons_copy_the_id_and_the_command(page: Page) -> None:
    job = made(args=["x"])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/console/jobs/{job.id}/")

    page.get_by_role("button", name="Copy the id").click()
    expect(page.get_by_role("button", name="Copied the id")).to_be_focused()
    assert page.evaluate("navigator.clipboard.readText()") == job.id
    page.get_by_text("Enqueue such a job").click()
    page.get_by_role("button", name="Copy the command").click()
    expect(page.get_by_role("button", name="Copied the command")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("curl -X POST")
    page.evaluate("document.activeElement.blur()")
    expect(page.get_by_role("button", name="Copy the command")).to_be_visible()


def test_a_browser_without_a_clipboard_copies_the_selection(page: Page) -> None:
    job = made(args=["x"])
    page.goto(f"/console/jobs/{job.id}/")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.evaluate(
        "document.addEventListener('copy', () => { window.copied = `${getSelection()}`; })"
    )

    page.get_by_role("button", name="Copy the id").click()

    expect(page.get_by_role("button", name="Copied the id")).to_be_visible()
    assert page.evaluate("window.copied") == job.id


def test_buttons_come_back_with_fresh_data(page: Page) -> None:
    job = made(args=["x"])
    page.goto(f"/console/jobs/{job.id}/")
    page.evaluate("turnNow()")

    expect(page.get_by_role("button", name="Copy the id")).to_be_visible()
