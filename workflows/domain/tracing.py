"""Every step of a workflow tells of the trace that began it. Spec: contract 32.2."""

from dataclasses import replace
from typing import Final

from jobs.domain.caller import Caller

ORIGIN: Final = "ojs.workflow.trace_origin"  # of `meta`


def originated(caller: Caller) -> Caller:
    """Return the caller whose jobs, now and when later steps begin, name the trace of its request.

    A step may have a trace of its own; the origin is that of the workflow all the same.
    """
    parent = (caller.stamps or {}).get("traceparent")
    if parent is None:
        return caller
    return replace(caller, stamps={**(caller.stamps or {}), ORIGIN: parent})
