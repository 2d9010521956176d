"""Actions on the checked jobs of a list, by hand and without scripts."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Audit, Job
from tests.asserts import assert_state, assert_store_is_sound
from tests.console.conftest import PASSWORD, WAIT_MS, answer
from tests.console.test_actions import messages_of
from tests.factories import JobFactory, stored_ids

expect.set_options(timeout=WAIT_MS)
LIST = "/console/jobs/"


def act(client: Client, verb: str, *ids: str, **more: str) -> str:
    """Send the form of a button below a list; return the last message."""
    path = reverse("ojs_console:act", args=[f"{verb}-chosen"])
    return messages_of(client.post(path, {"id": list(ids), **more}))[-1]


def jobs(state: State, number: int = 2, **more: object) -> list[str]:
    """Store jobs in a state."""
    return [JobFactory.create(state=state, **more).id for _ in range(number)]


@pytest.mark.parametrize(
    ("verb", "before", "after", "words"),
    [("retry", State.DISCARDED, State.AVAILABLE, "2 jobs are available again."),
     ("cancel", State.AVAILABLE, State.CANCELLED, "2 jobs are cancelled."),
     ("delete", State.COMPLETED, None, "2 jobs are deleted.")],
)  # fmt: skip
def test_chosen_jobs_are_acted_on_and_each_has_its_entry(
    console: Client, verb: str, before: State, after: State | None, words: str
) -> None:
    ids, others = jobs(before), jobs(before)

    assert act(console, verb, *ids, reason="a bad release") == words

    if after is None:
        assert not Job.objects.filter(id__in=ids).exists()
    else:
        assert_state(after, *ids)
    assert_state(before, *others)
    entries = Audit.objects.filter(reason="a bad release", actor="console:operator")
    assert sorted(entries.values_list("target", flat=True)) == sorted(ids)
    assert {entry.data["chosen"] for entry in entries} == {2}
    assert_store_is_sound()


def test_chosen_jobs_that_moved_on_are_left_and_told(console: Client) -> None:
    (dead,), (done,) = jobs(State.DISCARDED, 1), jobs(State.COMPLETED, 1)

    said = act(console, "retry", dead, done, new_id(), "nonsense")

    assert (
        said == "1 job is available again. 3 unchanged, because of the state: completed, deleted."
    )
    assert_state(State.COMPLETED, done)
    assert Audit.objects.filter(action="job.retried").count() == 1


@pytest.mark.parametrize(("number", "words"), [(0, "No job is selected"), (51, "at most 50 jobs")])
def test_no_job_and_more_than_a_page_are_refused(console: Client, number: int, words: str) -> None:
    ids = stored_ids(51)

    assert words in act(console, "cancel", *ids[:number])
    assert_state(State.AVAILABLE, *ids)


def test_buttons_are_those_that_jobs_of_the_state_take(console: Client) -> None:
    for state in (State.DISCARDED, State.COMPLETED, State.AVAILABLE):
        jobs(state, 1)

    def offered(query: str) -> list[str]:
        return [label for _, label, _ in console.get(LIST + query).context["choices"]]

    assert offered("") == ["Retry", "Cancel", "Delete"]
    assert offered("?state=available") == ["Cancel"]
    assert offered("?state=discarded") == ["Retry", "Delete"]
    assert offered("?state=completed") == ["Delete"]
    dead = console.get("/console/dead-letter/").context["choices"]
    assert [label for _, label, _ in dead] == ["Retry", "Delete"]


def test_who_may_only_look_has_no_boxes(viewer: User) -> None:
    jobs(State.AVAILABLE, 1)
    client = Client()
    client.force_login(viewer)

    page = client.get(LIST).content.decode()

    assert 'type="checkbox" form="chosen"' not in page
    assert 'id="chosen"' not in page


def test_rows_are_chosen_by_keys_and_stand_still(page: Page) -> None:
    ids = sorted(stored_ids(3))
    page.goto(LIST)
    form = page.locator("#chosen")
    expect(form.get_by_role("button", name="Cancel")).to_be_disabled()
    for key in ("j", "x", "j", "x", "j", "x", "x"):  # the third row is unchecked again
        page.keyboard.press(key)
    expect(form.locator("output")).to_contain_text("2 selected")
    every = page.get_by_label("Select all on this page")
    assert every.evaluate("box => box.indeterminate")
    with page.expect_response(lambda one: one.url.endswith(LIST)):  # the list refreshes
        pass
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(form.locator("output")).to_contain_text("2 selected")
    form.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_contain_text("Cancel the 2 selected jobs?")
    answer(page, "sent twice")
    expect(page.get_by_role("status").first).to_contain_text("2 jobs are cancelled")
    assert_state(State.AVAILABLE, ids[0])
    assert_state(State.CANCELLED, *ids[1:])
    assert Audit.objects.filter(reason="sent twice").count() == 2


def test_several_rows_are_chosen_at_once(page: Page) -> None:
    stored_ids(4)
    page.goto(LIST)
    boxes = page.locator("tbody input[form=chosen]")
    boxes.nth(0).check()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(page.locator("#chosen output")).to_contain_text("3 selected")
    page.get_by_label("Select all on this page").check()
    expect(page.locator("#chosen output")).to_contain_text("4 selected")
    page.get_by_label("Select all on this page").uncheck()
    expect(page.locator("#chosen output")).to_contain_text("by their boxes")


def test_one_more_key_goes_on_without_a_reason(page: Page) -> None:
    (dead,) = jobs(State.DISCARDED, 1)
    page.goto(f"{LIST}{dead}/")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("available again")
    assert Audit.objects.get(action="job.retried").reason is None


def test_boxes_need_no_script(browser: Browser, server: str, operator: User) -> None:
    first, second = jobs(State.DISCARDED)
    context = browser.new_context(base_url=server, java_script_enabled=False)
    tab = context.new_page()
    tab.goto("/console/login/")
    tab.get_by_label("Name").fill("operator")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Log in").click()
    tab.goto(f"{LIST}?state=discarded")
    tab.locator(f"tbody input[value='{first}']").check()
    tab.locator("#chosen").get_by_role("button", name="Retry").click()
    expect(tab.get_by_role("status").first).to_contain_text("1 job is available again")
    assert_state(State.AVAILABLE, first)
    assert_state(State.DISCARDED, second)
    context.close()
