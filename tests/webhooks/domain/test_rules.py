"""Signatures, secrets, event filters and verdicts. Spec: contract 26.2."""

import hashlib
import hmac

import pytest

from tests.spec import spec
from webhooks.domain.interest import Interest, is_pattern
from webhooks.domain.signature import new_secret, sign
from webhooks.domain.verdict import Answer, wait_s

SCHEDULE = (0, 30, 120, 600, 3600)


@spec("WH-5")
def test_a_signature_is_the_hmac_of_time_and_body() -> None:
    expected = hmac.new(b"secret", b"17.{}", hashlib.sha256).hexdigest()

    assert sign(["secret"], "17", b"{}") == f"sha256={expected}"


@spec("WH-6")
def test_a_rotated_secret_signs_second() -> None:
    both = sign(["new", "old"], "1", b"x")

    assert both == ",".join([sign(["new"], "1", b"x"), sign(["old"], "1", b"x")])


@spec("contract 26.2")
def test_secrets_are_long_and_never_equal() -> None:
    made = {new_secret() for _ in range(50)}

    assert len(made) == 50
    assert all(one.startswith("whsec_") and len(one) == 49 for one in made)


@pytest.mark.parametrize("pattern", ["*", "job.*", "job.completed", "a.b_c.d", "scheduling.x.*"])
@spec("WH-2")
def test_patterns(pattern: str) -> None:
    assert is_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["", "job*", "*.x", "job.*.x", "Job.x", "job.", ".job", 1, None]
)
@spec("WH-2")
def test_what_is_no_pattern(pattern: object) -> None:
    assert not is_pattern(pattern)


@pytest.mark.parametrize(
    ("interest", "is_covered"),
    [
        (Interest(["*"]), True),
        (Interest(["job.*"]), True),
        (Interest(["job.completed"]), True),
        (Interest(["job.failed", "queue.*"]), False),
        (Interest(["*"], queues=["mail"]), True),
        (Interest(["*"], queues=["other"]), False),
        (Interest(["*"], job_types=["mail.send"]), True),
        (Interest(["*"], queues=["mail"], job_types=["x"]), False),
        (Interest(["*"], tenant="north"), True),
        (Interest(["*"], tenant="south"), False),
    ],
)
@spec("WH-3")
def test_interest_is_the_and_of_what_is_set(interest: Interest, is_covered: bool) -> None:
    facts = {"queue": "mail", "job_type": "mail.send", "tenant": "north"}

    assert interest.covers("job.completed", **facts) is is_covered


@spec("contract 26.2")
def test_events_about_webhooks_are_never_sent() -> None:
    for pattern in ("*", "webhook.*", "webhook.dead"):
        assert not Interest([pattern]).covers(
            "webhook.dead", queue=None, job_type=None, tenant=None
        )


@pytest.mark.parametrize(
    ("answer", "tries", "expected"),
    [
        (Answer(500, 1), 1, 30),
        (Answer(503, 1), 4, 3600),
        (Answer(None, 1, error="timeout"), 2, 120),
        (Answer(500, 1), 5, None),
        (Answer(400, 1), 1, None),
        (Answer(410, 1), 1, None),
        (Answer(302, 1), 1, 30),
        (Answer(429, 1), 1, 30),
        (Answer(429, 1, retry_after_s=300), 1, 300),
        (Answer(429, 1, retry_after_s=10**9), 1, 86_400),
        (Answer(500, 1, retry_after_s=300), 1, 30),
        (Answer(None, 1, is_final=True), 1, None),
    ],
)
@spec("WH-7")
def test_and_8_what_follows_from_an_answer(
    answer: Answer, tries: int, expected: int | None
) -> None:
    assert wait_s(answer, tries, SCHEDULE) == expected
