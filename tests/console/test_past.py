"""The state of a job right after an event, on the job's page."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client

from durable.models import Checkpoint
from durable.services import checkpoints
from durable.services.checkpoints import Save
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Event
from jobs.models import Job as Row
from jobs.services.operate.operate import retry_job
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.revive import Override
from jobs.services.record.events import EventFilter, latest
from tests.console.test_audited import stepped
from tests.console.test_pages import text, url
from tests.factories import JobFactory
from tests.spec import spec


def event_of(job_id: str, kind: int) -> str:
    """Return the id of the latest event of a kind."""
    return latest(EventFilter(kinds=(kind,), job_id=job_id), limit=1)[0][0].id


def page_after(client: Client, job_id: str, kind: int) -> str:
    return text(client, f"{url('job', job_id)}?event={event_of(job_id, kind)}")


@spec("contract 34.2")
def test_timeline_leads_to_the_job_right_after_each_event(console: Client) -> None:
    job_id = JobFactory.create(state=State.ACTIVE, worker_id="w1", args=["ada"]).id

    page = text(console, url("job", job_id))
    started = page_after(console, job_id, 3)
    queued = page_after(console, job_id, 1)

    assert f"?event={event_of(job_id, 3)}#past" in page
    assert "Right after" not in page
    assert "Right after job.started" in started
    assert "<dt>Worker</dt><dd>w1</dd>" in started.split('id="past"')[1]
    assert "after available" in started
    assert '<span class="badge available">' in queued.split('id="past"')[1]


@spec("contract 34.2")
def test_page_says_what_is_not_kept(console: Client) -> None:
    job_id = JobFactory.create(state=State.ACTIVE, args=["ada"]).id
    checkpoints.save(Save(job_id, '{"page": 1}'))
    kept = page_after(console, job_id, 14)
    checkpoints.save(Save(job_id, '{"page": 2}'))
    Checkpoint.objects.update(created_at=F("created_at") + timedelta(minutes=1))
    replaced = page_after(console, job_id, 14)
    cancel(job_id)
    retry_job(job_id, Override(args=["eve"]), Caller("ada"))
    Event.objects.filter(job_id=job_id, kind=1, attempt=0).earliest("stamp").delete()
    changed = page_after(console, job_id, 3)

    assert "number\n      1" in kept.split('id="past"')[1]
    assert "&quot;page&quot;: 1" in kept
    assert "The server keeps the latest checkpoint only" in replaced
    assert "A retry has replaced the arguments since" in changed
    assert "no longer has the first events" in changed


@spec("contract 31.4")
def test_classified_job_shows_neither_arguments_nor_steps(console: Client) -> None:
    job_id = stepped()["id"]
    Row.objects.filter(id=job_id).update(meta={"data_classification": "restricted"})

    past = page_after(console, job_id, 1).split('id="past"')[1]

    assert "charge" not in past
    assert "<h3>Arguments</h3>" not in past


@pytest.mark.parametrize("event", ["nonsense", "evt_01965000-0000-7000-8000-000000000000"])
def test_unknown_event_is_not_found(console: Client, event: str) -> None:
    job_id = JobFactory.create().id

    assert console.get(f"{url('job', job_id)}?event={event}").status_code == 404
