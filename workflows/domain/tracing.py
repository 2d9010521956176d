"""The trace origin of workflows: each step names the trace of the request. Spec: contract 32.2."""

from dataclasses import replace
from typing import Final

from jobs.domain.access.caller import Caller

ORIGIN: Final = "ojs.workflow.trace_origin"  # member of `meta`


def originated(caller: Caller) -> Caller:
    """Return the caller with its request's trace as origin, for jobs now and of later steps.

    A step may have a trace of its own; its origin is still the trace of the workflow.
    """
    parent = (caller.stamps or {}).get("traceparent")
    if parent is None:
        return caller
    return replace(caller, stamps={**(caller.stamps or {}), ORIGIN: parent})
