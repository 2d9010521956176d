"""The envelope members that a draft fixes. Spec: contract 1.1, 1.2."""

from typing import Any

from jobs.domain.enqueue.draft import attributes
from jobs.domain.envelope import parse_job
from tests.factories import EnvelopeFactory


def fixed(**members: Any) -> dict[str, Any]:
    """Return the attributes of a job that was sent with these members."""
    return attributes(parse_job(EnvelopeFactory.create(**members)))


def test_d5_seconds_are_returned_when_only_they_were_sent() -> None:
    assert fixed(timeout=5)["timeout"] == 5
    assert fixed(timeout=5)["timeout_ms"] == 5000
    assert "timeout" not in fixed(timeout=5, timeout_ms=7000)
    assert fixed(timeout=5, timeout_ms=7000)["timeout_ms"] == 7000
    assert "timeout" not in fixed(timeout_ms=7000)
    assert fixed(visibility_timeout=5)["visibility_timeout"] == 5
    assert "visibility_timeout" not in fixed(visibility_timeout_ms=5000)
