"""Operations that a replica may serve. See docs/replicas.md."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

from jobs.api.base import OJSView
from jobs.services.read import replica

View = TypeVar("View", bound=Callable[..., Any])
LAG: Final = "X-OJS-Replica-Lag-Ms"


def may_lag(method: View) -> View:
    """Let a replica serve a GET, unless the request has `Cache-Control: no-cache`.

    Answers from the replica have the header LAG. The method must have no side effects.
    """

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

    answer.may_lag = True  # type: ignore[attr-defined]  # for the document
    return cast("View", answer)
