"""The refusals and their form on the wire: one class is one code. Spec: contract 4."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from ojs_tasks.exceptions import Refused

MAX_SHOWN = 200  # characters of a received value in an answer
LISTED = 100  # problems of a batch that an answer lists


def shown(value: object) -> object:
    """Return `value` if it is small enough to repeat in an answer, else its kind and size."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return value if len(value) <= MAX_SHOWN else value[:MAX_SHOWN] + "…"
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else type(value).__name__


class OJSError(Refused):
    """Base of all refusals; `details` and `extra` end up in the error body."""

    code: ClassVar[str]
    status: ClassVar[int]
    type: ClassVar[str] = "validation_error"
    retryable: ClassVar[bool] = False
    hint: ClassVar[str] = "correct the request and send it again"

    def __init__(
        self,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Set the parts of the answer."""
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})
        self.listed: dict[str, Any] = {}  # further members if it is one of several errors

    @classmethod
    def field(cls, name: str, problem: str, received: object = None) -> Self:
        """Refuse one attribute: the message reads "<name> <problem>"."""
        return cls.of_problems([Problem(name, problem, received)])

    @classmethod
    def of_problems(cls, problems: Iterable["Problem"]) -> Self:
        """Refuse several attributes at once; the first is named in the message."""
        found = list(problems)
        first = found[0]
        return cls(
            f"{first.field} {first.message}",
            details={
                "field": first.field,
                "expected": first.message,
                "received": shown(first.received),
                "errors": [{"field": p.field, "message": p.message} for p in found],
            },
        )

    @staticmethod
    def first_of(problems: Sequence["OJSError"]) -> "OJSError":
        """Return the first problem of a batch, listing all. Spec: contract 11.1."""
        first = problems[0]
        first.details["errors"] = [
            {"index": problem.details["index"], "field": problem.details.get("field"),
             "message": problem.message, **problem.listed}
            for problem in problems[:LISTED]
        ]  # fmt: skip
        return first


class Problem:
    """One attribute that breaks a rule."""

    __slots__ = ("field", "message", "received")

    def __init__(self, field: str, message: str, received: object = None) -> None:
        """Set the attribute, the rule and the received value."""
        self.field, self.message, self.received = field, message, received


class InvalidPayload(OJSError):
    code, status = "invalid_payload", 400
    hint = "send one JSON object, encoded as UTF-8"


class InvalidRequest(OJSError):
    code, status = "invalid_request", 400


class Unprocessable(OJSError):
    code, status = "invalid_request", 422


class InvalidRetryPolicy(Unprocessable):
    hint = "correct the retry policy"


class ValidationFailed(OJSError):
    code, status = "validation_error", 422
    hint = "send the values that the job's meta asks the server to check"


class BulkFailed(OJSError):
    code, status = "x_bulk_failed", 422
    hint = "each item names the problem of its job"


class Unauthenticated(OJSError):
    code, status, type = "unauthenticated", 401, "auth"
    hint = "send an API key as 'Authorization: Bearer …'"


class PermissionDenied(OJSError):
    code, status, type = "permission_denied", 403, "auth"
    hint = "use an API key with the scope, or a user with the permission"
    principal: str = "anonymous"  # the refused principal


class TLSRequired(PermissionDenied):
    hint = "send the request to the https:// address of this server"


class TenantMismatch(PermissionDenied):
    code = "tenant_mismatch"
    hint = "name the tenant that the credentials are bound to, or none"


class NotFound(OJSError):
    code, status, type = "not_found", 404, "not_found"
    hint = "check the id; finished jobs are removed after their retention period"

    @classmethod
    def of(cls, kind: str, identity: str) -> Self:
        """Return the error for an unknown `kind`."""
        identity = str(shown(identity))
        return cls(
            f"{kind} {identity} does not exist",
            details={"resource_type": kind, "resource_id": identity},
        )


class RequestTimeout(OJSError):
    code, status, retryable = "request_timeout", 408, True
    hint = "send the whole request at once"


class MethodNotAllowed(OJSError):
    code, status = "method_not_allowed", 405
    hint = "use one of the methods in the Allow header"

    @classmethod
    def of(cls, method: str, allowed: Iterable[str]) -> Self:
        """Name the method and the allowed methods."""
        listed = ", ".join(allowed)
        return cls(
            f"{method} is not allowed here, use {listed}",
            details={"allowed": listed},
            headers={"Allow": listed},
        )


class Conflict(OJSError):
    code, status, type = "conflict", 409, "conflict"
    hint = "read the current state, then repeat the request if it still applies"


class PoolConflict(Conflict):
    code = "pool_conflict"
    hint = "a worker belongs to one pool; stop it, or give it another id"


class WorkerTaken(Conflict):
    code = "worker_taken"
    hint = "worker ids are unique in the deployment; give this worker another id"


class Duplicate(OJSError):
    code, status, type = "duplicate", 409, "conflict"
    hint = "the job exists already; its id is in details.existing_job_id"


class TooLarge(OJSError):
    """Base of the 413s."""

    status = 413
    hint = "make it smaller; store large data elsewhere and pass a reference"

    @classmethod
    def of(cls, what: str, limit: int, actual: int) -> Self:
        """Name the limit and the size."""
        return cls(
            f"{what} has {actual} bytes, at most {limit} are taken",
            details={"field": what, "limit": limit, "actual": actual},
        )


class PayloadTooLarge(TooLarge):
    code = "payload_too_large"


class MetadataTooLarge(TooLarge):
    code = "metadata_too_large"


class ResultTooLarge(TooLarge):
    code = "result_too_large"


class BatchTooLarge(TooLarge):
    code = "batch_too_large"
    hint = "split the batch"


class ConfirmationRequired(OJSError):
    code, status = "confirmation_required", 400
    hint = "send confirm: true to confirm the request"


class Unsupported(OJSError):
    code, status, type = "unsupported", 422, "unsupported"
    hint = "see /ojs/manifest for the features of this server"


class QueuePaused(OJSError):
    code, status, type, retryable = "queue_paused", 422, "conflict", True
    hint = "the queue is being emptied; use another queue"


class RateLimited(OJSError):
    code, status, type, retryable = "rate_limited", 429, "rate_limit", True
    hint = "wait for the time in Retry-After"


class QueueFull(OJSError):
    code, status, type, retryable = "QUEUE_FULL", 429, "rate_limit", True
    hint = "wait for the time in Retry-After, or raise the queue's bound"


class BackendError(OJSError):
    code, status, type, retryable = "backend_error", 500, "backend_error", True
    hint = "try again; the server's log has the request id"


class BackendUnavailable(OJSError):
    code, status, type, retryable = "backend_unavailable", 503, "backend_error", True
    hint = "try again after the time in Retry-After"


class RealtimeUnavailable(OJSError):
    code, status, type, retryable = "realtime_unavailable", 503, "backend_error", True
    hint = "try again after the time in Retry-After, or read GET /ojs/v1/events instead"


class BackendTimeout(OJSError):
    code, status, type, retryable = "backend_timeout", 504, "backend_error", True
    hint = "try again; after a write, first check whether it succeeded"
