"""The changes of the list of findings, as a client of server-sent events gets them."""

from datetime import timedelta

import pytest

from attention.services.listing import listed
from attention.services.look import look
from attention.services.mute import mute, unmute
from jobs.domain.access.caller import SYSTEM
from jobs.models import Queue
from jobs.queries import ago, tick
from jobs.services.operate.queues import pause, resume
from tests.attention.incidents import aggregated
from tests.factories import stored
from tests.project.test_streams import Stream

pytestmark = pytest.mark.usefixtures("store")


def test_a_client_of_the_stream_keeps_the_list_by_events(server: str) -> None:
    tick("promote")
    stored(3, queue="mail")
    aggregated()
    pause("mail", SYSTEM)
    Queue.objects.filter(name="mail").update(paused_at=ago(600_000))
    stream = Stream(f"{server}/ojs/v1/events/stream?types=attention.*")

    look()
    _, opened, _ = stream.until("attention.opened")
    (finding,) = [one for one in listed(None) if one.rule.id == "queue_paused"]
    mute(finding.id, "known", timedelta(hours=1), SYSTEM)
    _, muted, _ = stream.until("attention.muted")
    unmute(finding.id, SYSTEM)
    _, unmuted, _ = stream.until("attention.unmuted")
    resume("mail", SYSTEM)
    look()
    _, closed, _ = stream.until("attention.closed")
    stream.close()

    told = (opened, muted, unmuted, closed)
    assert {one["finding_id"] for one in told} == {finding.id}
    assert opened["text"] == "Queue mail is paused, and 3 jobs wait."
    assert (opened["severity"], opened["jobs"], opened["subject_kind"]) == ("warning", 3, "queue")
    assert muted["muted_until"] > muted["timestamp"]
