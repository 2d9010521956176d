"""Explanations of members by their workflow. Spec: contract 8.2."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.domain.dispatch.gates import Gate, GateState
from jobs.models import Ready
from jobs.services.dispatch.explain import explain
from jobs.services.read.show import show
from tests.factories import JobFactory
from tests.spec import spec
from tests.workflows.flows import chain, claimed, complete, created, graph, job, seen

pytestmark = pytest.mark.usefixtures("store")


def gates() -> list[Gate]:
    """Return the workflow gates of the only available job."""
    (job_id,) = Ready.objects.values_list("id", flat=True)
    return [gate for gate in explain(show(str(job_id)), None).gates if gate.gate == "workflow"]


@spec("contract 8.2")
def test_member_names_the_steps_it_came_after() -> None:
    flow = created(graph(**dict.fromkeys("abcdefg", ""), last="a b c d e f g", after="last"))
    complete(*claimed())

    (gate,) = gates()

    assert (gate.state, gate.name) == (GateState.OPEN, flow)
    assert gate.message == (
        f"It is step last of workflow {flow}: "
        "it waited for a, b, c, d, e and 2 more, which completed."
    )
    assert gate.numbers == {"steps_before": 7, "steps_after": 1}


@pytest.mark.parametrize(("name", "called"), [({}, None), ({"name": "nightly"}, "nightly")])
@spec("contract 8.2")
def test_first_member_waits_for_no_step(name: dict[str, Any], called: str | None) -> None:
    flow = created(chain(job(), job(), **name))

    (gate,) = gates()

    assert f"of workflow {called or flow}: it waits for no other step." in gate.message
    assert seen(flow)["steps"][0]["id"] in gate.message


def test_explanation_of_a_member_takes_one_statement_more() -> None:
    created(chain(job(), job()))
    plain = JobFactory.create(queue="other")
    costs = []
    for job_id in (plain.id, *Ready.objects.exclude(id=plain.id).values_list("id", flat=True)):
        found = show(str(job_id))
        with CaptureQueriesContext(connection) as captured:
            explain(found, None)
        costs.append(len(captured))

    assert costs == [4, 5]  # one statement each for pools, tenant and versions
