"""Facts about the workflow in Python handlers. Spec: contract 12.2."""

from typing import Any

import pytest

from ojs_tasks import Context
from tests.spec import spec
from tests.workflows.flows import chain, claimed, complete, created, job

pytestmark = pytest.mark.usefixtures("store")


def next_context() -> tuple[str | None, Any]:
    """Return the workflow and the parent results in the context of the next job."""
    (one,) = claimed()
    context = Context(one, "w1")
    complete(one, result={"of": one.type})
    return context.workflow_id, context.parent_results


@spec("contract 12.2")
def test_a_handler_knows_its_workflow_and_the_results_before() -> None:
    flow = created(chain(job("a"), job("b")))

    assert next_context() == (flow, None)
    assert next_context() == (flow, [{"of": "a"}])
