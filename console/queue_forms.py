"""The form of a queue's configuration, and the API request that it stands for."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from console.api_form import ApiForm, TextField
from console.proposals import FORMS, Proposal, propose
from console.refusals import number
from jobs.domain.errors import InvalidPayload, InvalidRequest
from jobs.domain.lanes.queues import RETAINED, merge
from jobs.domain.wire import jsonio
from jobs.domain.wire.durations import format_duration, parse_short_duration
from jobs.services.lanes import queue_config

FOR_EVER: Final = "forever"
API_NAMES: Final = {
    "concurrency": "concurrency",
    "rate_limit": "rate", "rate_limit.limit": "rate", "rate_limit.period": "rate_period",
    "backpressure": "max_depth", "backpressure.max_depth": "max_depth",
    "backpressure.max_size_bytes": "max_size_bytes", "backpressure.strategy": "strategy",
    "backpressure.warning_threshold": "warning_threshold",
    "visibility_timeout_ms": "lease", "default_timeout_ms": "timeout",
    "retention": "keep_completed", "retention.completed": "keep_completed",
    "retention.discarded": "keep_discarded", "retention.cancelled": "keep_cancelled",
    "retention.dead_letter": "keep_dead", "retention.dead_letter.max_age": "keep_dead",
    "retention.dead_letter.max_count": "most_dead",
    "objective": "objective_percent", "objective.percent": "objective_percent",
    "objective.start_within_ms": "objective_within",
    "allowed_job_types": "types", "default_retry": "retry", "retry": "retry",
}  # fmt: skip


class QueueForm(ApiForm):
    """The configuration of a queue; an empty field stands for the default of the server."""

    api_names = API_NAMES
    concurrency = TextField()
    rate = TextField()
    rate_period = TextField()
    max_depth = TextField()
    max_size_bytes = TextField()
    strategy = TextField()
    warning_threshold = TextField()
    objective_percent = TextField()
    objective_within = TextField()
    lease = TextField()
    timeout = TextField()
    keep_completed = TextField()
    keep_discarded = TextField()
    keep_cancelled = TextField()
    keep_dead = TextField()
    most_dead = TextField()
    types = TextField()
    retry = TextField()

    @property
    def wanted(self) -> dict[str, Any]:
        """Return the configuration of a valid form as the API takes it. Raises InvalidRequest."""
        given = self.cleaned_data
        members = {
            "concurrency": number(given["concurrency"]),
            "rate_limit": _set(limit=number(given["rate"]), period=given["rate_period"]),
            "backpressure": _set(
                max_depth=number(given["max_depth"]),
                max_size_bytes=number(given["max_size_bytes"]),
                strategy=given["strategy"],
                warning_threshold=number(given["warning_threshold"]),
            ),
            "objective": _set(
                percent=number(given["objective_percent"]),
                start_within_ms=_milliseconds(given["objective_within"]),
            ),
            "visibility_timeout_ms": _milliseconds(given["lease"]),
            "default_timeout_ms": _milliseconds(given["timeout"]),
            "retention": _retention(given),
            "allowed_job_types": given["types"].replace(",", " ").split(),
            "default_retry": _object(given["retry"]),
        }
        return {name: value for name, value in members.items() if value not in (None, {}, [])}


def proposed(name: str, wanted: Mapping[str, Any], fields: Mapping[str, str]) -> Proposal:
    """Return a queue's new configuration as a change to simulate.

    Raises NotFound, InvalidRequest, and Unprocessable without a change of the limits.
    """
    queue_config.config_of(name)
    after = merge({}, wanted, strict=True)
    limits = {member: after.get(member) for member in FORMS["queue"].replayed}
    changes = orjson.dumps({"queues": {name: limits}}, option=orjson.OPT_INDENT_2).decode()
    return propose(queue_config.subject(name), after, changes=changes, fields=fields)


def fields_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a stored configuration as fields of the form."""
    rate, bound = config.get("rate_limit") or {}, config.get("backpressure") or {}
    kept, objective = config.get("retention") or {}, config.get("objective") or {}
    dead = kept.get("dead_letter", "")
    if not isinstance(dead, Mapping):
        dead = {"max_age": dead}
    shown = {
        "concurrency": config.get("concurrency"),
        "rate": rate.get("limit"), "rate_period": rate.get("period"),
        **{name: bound.get(name) for name in
           ("max_depth", "max_size_bytes", "strategy", "warning_threshold")},
        "objective_percent": f"{percent:g}" if (percent := objective.get("percent")) else "",
        "objective_within": _duration(objective.get("start_within_ms")),
        "lease": _duration(config.get("visibility_timeout_ms")),
        "timeout": _duration(config.get("default_timeout_ms")),
        **{f"keep_{name}": _age(kept.get(name, "")) for name in RETAINED},
        "keep_dead": _age(dead.get("max_age", "")), "most_dead": dead.get("max_count"),
        "types": "\n".join(config.get("allowed_job_types") or ()),
        "retry": orjson.dumps(retry).decode() if (retry := config.get("default_retry")) else "",
    }  # fmt: skip
    return {name: "" if value is None else str(value) for name, value in shown.items()}


def _set(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "")}


def _milliseconds(text: str) -> Any:
    """Read a duration; return other text as it is, for the refusal to show."""
    try:
        return parse_short_duration(text)
    except ValueError:
        return number(text)


def _duration(ms: int | None) -> str:
    return "" if ms is None else format_duration(ms)


def _retention(given: Mapping[str, str]) -> dict[str, Any]:
    kept = {name: _kept(text) for name in RETAINED if (text := given[f"keep_{name}"])}
    dead: dict[str, Any] = _set(max_count=number(given["most_dead"]))
    if age := given["keep_dead"]:
        dead["max_age"] = _kept(age)
    return kept | ({"dead_letter": dead} if dead else {})


def _kept(text: str) -> str | None:
    return None if text.lower() == FOR_EVER else text


def _age(stored: Any) -> str:
    return FOR_EVER if stored is None else str(stored)


def _object(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        return jsonio.loads_object(text.encode(), jsonio.REQUEST_DEPTH)
    except InvalidPayload as problem:
        raise InvalidRequest.field("default_retry", "must be a JSON object") from problem
