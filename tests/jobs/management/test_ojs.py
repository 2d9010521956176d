"""manage.py ojs: every verb, for people and for scripts."""

import json
from typing import Any

import pytest
from django.core.management import CommandError

from jobs.domain.states import State, state_of
from jobs.domain.wire.ids import new_id
from jobs.models import Depth, QueueSize, TenantDepth
from jobs.services.operate.queues import pause
from jobs.services.read.show import show
from tests.asserts import assert_store_is_sound
from tests.factories import JobFactory, stored
from tests.jobs.management.conftest import Manage

STATES = {state.value for state in State}


def parsed(text: str) -> Any:
    """Parse the single line that `--json` printed."""
    assert text.count("\n") == 1
    return json.loads(text)


def test_enqueue_stores_a_job_and_says_which(manage: Manage) -> None:
    said = manage("ojs", "enqueue", "mail.send", '["ada@example.org", 1]', "--queue", "mail")

    job_id, state, kind, _, queue = said.split()
    assert (state, kind, queue) == ("available", "mail.send", "mail")
    assert json.loads(show(job_id).args) == ["ada@example.org", 1]


def test_enqueue_takes_options(manage: Manage) -> None:
    job = parsed(
        manage(
            "ojs", "enqueue", "mail.send", "--queue", "mail", "--priority", "7",
            "--meta", '{"tenant_id": "north"}', "--in", "PT5M", "--json",
        )
    )  # fmt: skip

    assert (job["state"], job["queue"], job["priority"]) == ("scheduled", "mail", 7)
    assert job["meta"]["tenant_id"] == "north"
    assert job["args"] == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("mail.send", "[1"), "args is not JSON"),
        (("mail.send", "{}"), "invalid_request: args"),
        (("mail.send", "[]", "--meta", "x"), "meta is not JSON"),
        (("Mail Send",), "invalid_request: type"),
        (("mail.send", "--queue", "no such"), "queue"),
        (("mail.send", "--priority", "1000000"), "priority"),
        (("mail.send", "--in", "soon"), "scheduled_at"),
    ],
)
def test_enqueue_of_a_wrong_job_names_the_problem(
    manage: Manage, arguments: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem):
        manage("ojs", "enqueue", *arguments)


def test_inspect_shows_the_whole_job(manage: Manage) -> None:
    job = JobFactory.create(args=["ü"], state=State.ACTIVE)

    for said in (manage("ojs", "inspect", job.id), manage("ojs", "inspect", job.id, "--json")):
        shown = json.loads(said)
        assert (shown["id"], shown["state"], shown["args"]) == (job.id, "active", ["ü"])
        assert shown["attempt"] == 1


@pytest.mark.parametrize("verb", ["inspect", "retry", "cancel"])
@pytest.mark.parametrize("job", [new_id(), "17", "\0"], ids=["unknown", "no id", "nul"])
def test_a_job_that_does_not_exist_is_not_found(manage: Manage, verb: str, job: str) -> None:
    with pytest.raises(CommandError, match="not_found: "):
        manage("ojs", verb, job)


def test_retry_runs_a_discarded_job_again(manage: Manage) -> None:
    job = JobFactory.create(state=State.DISCARDED)

    assert manage("ojs", "retry", job.id).split()[:2] == [job.id, "available"]


def test_retry_of_another_job_is_refused(manage: Manage) -> None:
    job = JobFactory.create()

    with pytest.raises(CommandError, match="conflict: "):
        manage("ojs", "retry", job.id)


def test_cancel_ends_a_job_with_a_reason(manage: Manage) -> None:
    job = JobFactory.create()

    said = parsed(manage("ojs", "cancel", job.id, "--reason", "mistake", "--json"))

    assert (said["id"], said["state"]) == (job.id, "cancelled")
    assert state_of(show(job.id).state) is State.CANCELLED


def test_cancel_of_a_finished_job_is_refused(manage: Manage) -> None:
    job = JobFactory.create(state=State.COMPLETED)

    with pytest.raises(CommandError, match=r"conflict: .*completed"):
        manage("ojs", "cancel", job.id)


def test_pause_and_resume_say_how_the_queue_is(manage: Manage) -> None:
    stored(2, queue="mail")

    paused = manage("ojs", "pause", "mail").splitlines()
    assert paused[0].split()[:2] == ["queue", "status"]
    assert paused[1].split()[:2] == ["mail", "paused"]

    (resumed,) = parsed(manage("ojs", "resume", "mail", "--json"))
    assert (resumed["name"], resumed["status"], resumed["available"]) == ("mail", "active", 2)


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_pause_of_an_impossible_queue_is_refused(manage: Manage, verb: str) -> None:
    with pytest.raises(CommandError, match="queue"):
        manage("ojs", verb, "No Such")


def test_queues_lists_all_with_their_numbers(manage: Manage) -> None:
    stored(3, queue="mail")
    JobFactory.create(queue="billing", state=State.ACTIVE)
    pause("billing")

    table = [line.split() for line in manage("ojs", "queues").splitlines()]
    listed = parsed(manage("ojs", "queues", "--json"))

    head = table[0]
    rows = {row[0]: dict(zip(head, row, strict=True)) for row in table[1:]}
    assert (rows["mail"]["status"], rows["mail"]["available"]) == ("active", "3")
    assert (rows["billing"]["status"], rows["billing"]["active"]) == ("paused", "1")
    assert [queue["name"] for queue in listed] == ["billing", "mail"]
    assert listed[0].keys() >= STATES


def test_queues_of_an_empty_store_are_a_heading(manage: Manage) -> None:
    assert len(manage("ojs", "queues").splitlines()) == 1
    assert parsed(manage("ojs", "queues", "--json")) == []


def test_stats_adds_up_all_queues(manage: Manage) -> None:
    stored(2, queue="a")
    stored(3, queue="b")
    JobFactory.create(queue="c", state=State.COMPLETED)

    said = dict(line.split() for line in manage("ojs", "stats").splitlines())
    counts = parsed(manage("ojs", "stats", "--json"))

    assert counts == {**dict.fromkeys(STATES, 0), "available": 5, "completed": 1}
    assert said == {state: str(number) for state, number in counts.items()}


def test_reconcile_says_what_it_found_and_sets_it_right(manage: Manage) -> None:
    stored(2, queue="a")
    assert manage("ojs", "reconcile") == "0 counts differed from the jobs.\n"
    Depth.objects.create(queue="a", state=3, jobs=1500)
    TenantDepth.objects.create(tenant="north", queue="a", state=4, jobs=-1)
    QueueSize.objects.create(queue="a", bytes=7)

    said = manage("ojs", "reconcile")

    assert said.splitlines() == [
        "ojs_depth a available: +1,500 corrected",
        "ojs_tenant_depth north a active: -1 corrected",
        "ojs_queue_size a: +7 corrected",
        "3 counts differed from the jobs.",
    ]
    assert_store_is_sound()


def test_reconcile_for_scripts(manage: Manage) -> None:
    assert parsed(manage("ojs", "reconcile", "--json")) == []
    Depth.objects.create(queue="a", state=3, jobs=2)

    assert parsed(manage("ojs", "reconcile", "--json")) == [
        {"table": "ojs_depth", "queue": "a", "excess": 2, "tenant": None, "state": "available"}
    ]


def test_a_missing_or_unknown_verb_is_refused(manage: Manage) -> None:
    for arguments in ((), ("dance",)):
        with pytest.raises(CommandError):
            manage("ojs", *arguments)
