"""Checkpoints, waits and signals travel with the copies of federated jobs. Contract 23.6, 34.1."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from durable.models import Signal, Wait
from durable.services import checkpoints, signals
from durable.services.checkpoints import Save
from durable.services.suspend import suspend
from federation.domain.meta import FEDERATION_ID
from federation.domain.replica import Replica
from federation.services.replication.adopt import Order, adopt
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from jobs.services.read.show import show
from ojs_tasks.worker.ports import Suspend
from tests.asserts import assert_state, assert_store_is_sound
from tests.conftest import empty
from tests.factories import JobFactory
from tests.federation.replication.lost import federate, set_status
from tests.federation.replication.rig import EU, capture, replica, replicate, row
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")
UNTIL = datetime.now(UTC) + timedelta(days=300)
STATE = '{"__steps":{"charge":{"state":"done","result":8}},"own":[1]}'


def waiting(*sent: str) -> str:
    """Return a federated job whose step waits for a signal; others have come before."""
    job_id = JobFactory.create(state=State.ACTIVE, meta={FEDERATION_ID: new_id()}).id
    checkpoints.save(Save(job_id, STATE))
    for name in sent:
        signals.send(job_id, name, f'{{"from": "{name}"}}', "ada")
    suspend(Suspend(job_id, "approval", UNTIL, ("approved",)))
    return job_id


def adopted(job_id: str) -> str:
    """Copy a job, lose its region, and adopt it here; return the id of the adopting job."""
    capture()
    found = row(show(job_id))
    federation_id = str(found.federation_id)
    copy: dict[str, Any] = {
        "federation_id": federation_id, "type": found.type, "queue": found.queue,
        "state": found.state, "payload": found.payload,
    }  # fmt: skip
    empty()
    federate(mode="full")
    arriving: Replica = replica(**copy)
    replicate(arriving)
    set_status(EU, "unhealthy")
    assert adopt(Order(EU)).adopted == 1
    return str(Row.objects.get(**{"meta__ojs.federation.federation_id": federation_id}).id)


@pytest.fixture(autouse=True)
def federation(store: None) -> None:
    """Copy jobs with their contents."""
    federate(mode="full")


@spec("contract 34.1")
def test_adopted_job_waits_for_its_signal_and_continues_from_its_checkpoint() -> None:
    job_id = adopted(waiting("early"))

    assert_state(State.SCHEDULED, job_id)
    assert orjson.loads(checkpoints.read(job_id).state) == orjson.loads(STATE)
    wait = Wait.objects.get(job_id=job_id)
    assert (wait.step, wait.signals, wait.until) == ("approval", ["approved"], UNTIL)
    assert signals.send(job_id, "approved", "1", "ada").wakes
    assert_state(State.AVAILABLE, job_id)
    (job,) = fetch(FetchRequest(("default",))).jobs
    found = orjson.loads(job.attributes)["checkpoint"]
    assert [one["name"] for one in found["signals"]] == ["early", "approved"]
    assert found["signals"][0]["payload"] == {"from": "early"}
    assert found["resumed"] == {"step": "approval", "by": "signal"}
    assert_store_is_sound()


@spec("contract 34.1")
def test_job_whose_signal_came_before_the_loss_runs_where_it_is_adopted() -> None:
    job_id = adopted(waiting("approved"))

    assert_state(State.AVAILABLE, job_id)
    assert Signal.objects.get(job_id=job_id).sender == "ada"
    assert Wait.objects.get(job_id=job_id).is_woken
    assert_store_is_sound()
