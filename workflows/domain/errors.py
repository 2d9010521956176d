"""Errors of this app: each class stands for a code. Spec: contract 4, 8.1, MT-15.2-b."""

from collections.abc import Sequence
from typing import Any

from jobs.domain.errors import InvalidRequest, OJSError


class CrossTenantWorkflow(OJSError):
    code, status = "cross_tenant_workflow", 422
    hint = "let every step belong to the workflow's tenant, or name none"


def invalid(problems: Sequence[dict[str, Any]]) -> InvalidRequest:
    """Build the refusal of a workflow from problems with `path` and `message`.

    The first problem makes the message of the error.
    """
    first = problems[0]
    path = str(first["path"])
    return InvalidRequest(
        f"{path}: {first['message']}",
        details={
            "field": path.rpartition("].")[2].removeprefix("$."),
            "validation_errors": list(problems),
        },
    )
