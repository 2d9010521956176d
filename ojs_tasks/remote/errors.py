"""The errors of a server at a distance."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from ojs_tasks.exceptions import Refused, ServerUnreachable

MAX_SHOWN: Final = 200  # characters of an answer that is no OJS error

__all__ = ["ServerRefused", "ServerUnreachable", "refusal"]


class ServerRefused(Refused):
    """A refusal that came over HTTP; `retry_after_s` is the wait that the server asks for."""

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        """Set the parts of the refusal."""
        super().__init__(message)
        # The server's classes have a code each. Here the code is known with the answer alone.
        self.code = code  # type: ignore[misc]
        self.status = status  # type: ignore[misc]
        self.retryable = retryable  # type: ignore[misc]
        self.message = message
        self.details = dict(details or {})
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be pickled: its arguments are not those of the constructor."""
        return _rebuilt, (
            self.code, self.status, self.message, self.details, self.retryable, self.retry_after_s,
        )  # fmt: skip


def _rebuilt(
    code: str,
    status: int,
    message: str,
    details: dict[str, Any],
    retryable: bool,  # noqa: FBT001
    retry_after_s: float | None,
) -> ServerRefused:
    return ServerRefused(
        code, status, message, details=details, retryable=retryable, retry_after_s=retry_after_s
    )


def refusal(status: int, body: Any, retry_after_s: float | None = None) -> ServerRefused:
    """Return the error of an answer with a status from 300 on; the body may be anything."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(error.get("code"), str):
        return ServerRefused(
            "unknown", status, _without_body(status),
            retryable=status >= HTTPStatus.TOO_MANY_REQUESTS, retry_after_s=retry_after_s,
        )  # fmt: skip
    details = error.get("details")
    return ServerRefused(
        error["code"],
        status,
        str(error.get("message") or error["code"]),
        details=details if isinstance(details, Mapping) else None,
        retryable=error.get("retryable") is True,
        retry_after_s=retry_after_s,
    )


def _without_body(status: int) -> str:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return (
            f"the server answers with a redirect ({status}), which is not followed:"
            " set OJS['SERVER'] to its final address"
        )
    return f"the server answers {status} without an OJS error: is OJS['SERVER'] an OJS server?"
