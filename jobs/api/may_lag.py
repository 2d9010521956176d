"""Operations that a replica may serve. See docs/replicas.md."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final, TypeVar, cast

from jobs.api.base import OJSView
from jobs.api.openapi import Operation
from jobs.services.read import replica

View = TypeVar("View", bound=Callable[..., Any])
LAG: Final = "X-OJS-Replica-Lag-Ms"


def may_lag(method: View) -> View:
    """Let a replica serve a GET, unless the request has `Cache-Control: no-cache`.

    Answers from the replica have the header LAG. The method is described already, and has no side
    effects.
    """
    described: Operation = method.operation  # type: ignore[attr-defined]  # of `operation`

    @wraps(method)
    def answer(self: OJSView, *args: Any, **kwargs: Any) -> Any:
        def run() -> Any:
            made = method(self, *args, **kwargs)
            lag_ms = replica.lag_ms()
            if lag_ms is not None:
                self.answer_headers[LAG] = str(lag_ms)
            return made

        asked = self.http.META.get("HTTP_CACHE_CONTROL", "")
        return replica.read(run, is_latest="no-cache" in asked)

    headers = {**described.headers, 200: (*described.headers.get(200, ()), LAG)}
    answer.operation = replace(described, headers=headers)  # type: ignore[attr-defined]
    return cast("View", answer)
