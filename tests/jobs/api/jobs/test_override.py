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

    assert decode_override(None, job) is None
    assert decode_override(nulls, job) == Override()
    assert decode_override({"args": [], "priority": "high"}, job) == Override(args=[], priority=10)
    wrong: list[Any] = [{"args": None}, {"queue": "A"}, {"type": "a"}, [], {"retry": {"jitter": 1}}]
    for bad in wrong:
        with pytest.raises(OJSError):
            decode_override(bad, job)
