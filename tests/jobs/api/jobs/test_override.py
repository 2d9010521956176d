"""What a manual retry may replace in a job. Spec: contract 3.6."""

from typing import Any

import pytest

from jobs.api.jobs.override import decode_override
from jobs.domain.errors import OJSError
from jobs.domain.states import State
from jobs.services.outcome.revive import Override
from tests.factories import JobFactory
from tests.spec import spec


@pytest.mark.usefixtures("store")
@spec("contract 3.6")
def test_an_override_of_a_manual_retry_is_read_by_the_rules_of_push() -> None:
    job = JobFactory.create(state=State.DISCARDED)
    nulls = dict.fromkeys(("queue", "meta", "priority", "retry"))

    assert decode_override({}, job) is None
    assert decode_override({"override": nulls}, job) == Override()
    given = {"override": {"args": [], "priority": "high"}, "clear_checkpoint": True}
    assert decode_override(given, job) == Override(args=[], priority=10, clear_checkpoint=True)
    assert decode_override({"clear_checkpoint": True}, job) == Override(clear_checkpoint=True)
    wrong: list[Any] = [{"args": None}, {"queue": "A"}, {"type": "a"}, [], {"retry": {"jitter": 1}}]
    with pytest.raises(OJSError):
        decode_override({"clear_checkpoint": "yes"}, job)
    for bad in wrong:
        with pytest.raises(OJSError):
            decode_override({"override": bad}, job)
