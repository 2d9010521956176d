"""Pause and resume of queues; each has one event and one audit entry. Spec: contract 10.2."""

import pytest

from jobs.domain.access.caller import Caller
from jobs.models import Audit, Event
from jobs.services.operate.queues import pause, resume
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


@spec("contract 10.2")
def test_pausing_again_keeps_the_time_and_tells_nothing_new() -> None:
    first, since = pause("a", Caller("me"))
    again, still = pause("a", Caller("me"), "why")
    resume("a", Caller("me"))
    resume("a", Caller("me"))

    assert first.paused_at == again.paused_at == since == still
    assert list(Event.objects.order_by("stamp", "seq").values_list("kind", "data")) == [
        (20, {"paused_by": "me"}), (21, {"resumed_by": "me"}),
    ]  # fmt: skip
    assert Audit.objects.count() == 4
