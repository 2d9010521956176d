"""The steps of a job on its page, its signals, and "retry from step"."""

from django.contrib.auth.models import User
from django.test import Client

from durable.models import Checkpoint, Signal
from jobs.domain.states import State
from jobs.domain.wire.jsonio import loads
from jobs.models import Audit
from jobs.models import Job as Row
from tests.asserts import assert_state
from tests.console.test_actions import act, messages_of
from tests.console.test_audited import stepped
from tests.console.test_pages import text, url
from tests.spec import spec


@spec("contract 34.2")
def test_page_shows_steps_and_offers_a_signal_and_a_retry(console: Client) -> None:
    job_id = stepped()["id"]

    page = text(console, url("job", job_id))

    assert "Steps in the order in which they began" in page
    assert "3 attempts, result 8\xa0bytes" in page
    assert "signal &#x27;approved&#x27;" in page
    assert 'value="approved"' in page
    assert "<option>stock</option><option>charge</option><option>approved</option>" in page


@spec("contract 34.2")
def test_page_of_a_classified_job_shows_no_step(console: Client) -> None:
    job_id = stepped()["id"]
    Row.objects.filter(id=job_id).update(meta={"data_classification": "restricted"})

    page = text(console, url("job", job_id))

    assert "so its steps are hidden" in page
    assert "charge" not in page


@spec("contract 34.2")
def test_viewer_is_offered_neither(viewer: User) -> None:
    job_id = stepped()["id"]
    client = Client()
    client.force_login(viewer)

    page = text(client, url("job", job_id))

    assert "Steps in the order" in page
    assert 'id="send-signal"' not in page
    assert 'id="retry-from-step"' not in page
    assert act(client, "send-signal", id=job_id, name="go", reason="r").status_code == 403
    assert act(client, "retry-from-step", id=job_id, step="stock", reason="r").status_code == 403


@spec("contract 34.2")
def test_operator_retries_from_a_step_with_a_reason(console: Client) -> None:
    job_id = stepped()["id"]

    act(console, "retry-from-step", id=job_id, step="charge")
    assert_state(State.SCHEDULED, job_id)
    done = act(console, "retry-from-step", id=job_id, step="charge", reason="wrong amount")

    assert "runs again from step" in messages_of(done)[-1]
    assert_state(State.AVAILABLE, job_id)
    assert list(loads(Checkpoint.objects.get().state.encode())["__steps"]) == ["stock"]
    assert Audit.objects.get().reason == "wrong amount"


@spec("contract 34.2")
def test_operator_sends_a_signal_with_json(console: Client) -> None:
    job_id = stepped()["id"]

    wrong = act(console, "send-signal", id=job_id, name="approved", payload="{", reason="r")
    right = act(console, "send-signal", id=job_id, name="approved", payload='{"by": 1}', reason="r")

    assert "must be json" in messages_of(wrong)[-1]
    assert "it continues" in messages_of(right)[-1]
    assert (Signal.objects.get().payload, Signal.objects.get().sender) == (
        '{"by": 1}', "console:operator",
    )  # fmt: skip
    assert_state(State.AVAILABLE, job_id)
