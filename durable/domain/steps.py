"""The steps in a checkpoint: read for operators, and cut for a retry. Spec: contract 34.2.

`ojs_tasks.step_runs` writes them. Any client may save a checkpoint, so any JSON may be found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from jobs.domain.errors import NotFound
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from ojs_tasks.children import CANCEL, WITH_PARENT
from ojs_tasks.stored import ORPHANS, STEPS

LONGEST_MS: Final = 10 * 365 * 86_400_000  # of a step, for times that exist
MOST_ATTEMPTS: Final = 2**31


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step as a checkpoint has it; `since` and `at` are its beginning and its latest record."""

    name: str
    state: str  # such as done, failed, retrying, sleeping, waiting, timed_out, version
    attempts: int | None
    since: datetime | None
    at: datetime | None
    ms: int | None  # of the latest attempt
    until: datetime | None
    signal: str | None
    error: str | None
    bytes: int | None  # of the result
    is_orphan: bool
    job: str | None = None  # that the step started
    workflow: str | None = None  # that the step started


def steps_of(state: Any) -> list[StoredStep]:
    """Return the steps of a checkpoint, in the order in which they began."""
    orphans = state.get(ORPHANS) if isinstance(state, dict) else None
    names = orphans if isinstance(orphans, list) else []
    return [_step(name, record, is_orphan=name in names) for name, record in _records(state)]


def cut(state: Any, step: str) -> tuple[dict[str, Any], list[str]]:
    """Return a checkpoint without a step and the later ones, and their names. Raises NotFound."""
    names = [name for name, _ in _records(state)]
    if step not in names:
        raise NotFound.of("step", step)
    place = names.index(step)
    kept = {name: state[STEPS][name] for name in names[:place]}
    rest = {name: value for name, value in state.items() if name not in {STEPS, ORPHANS}}
    return {**rest, STEPS: kept}, names[place:]


class Children(NamedTuple):
    """Ids of what the steps of a job started."""

    jobs: list[str]
    workflows: list[str]


def cancelled_with(state: Any) -> Children:
    """Return the jobs and workflows that steps started and that are cancelled with their parent."""
    found = [record for _, record in _records(state) if record.get(CANCEL) == WITH_PARENT]
    return Children(_ids(found, "job"), _ids(found, "workflow"))


def _ids(records: Sequence[Mapping[str, Any]], member: str) -> list[str]:
    return [found for one in records if is_id(found := str(one.get(member)))]


def _records(state: Any) -> list[tuple[str, Mapping[str, Any]]]:
    found = state.get(STEPS) if isinstance(state, dict) else None
    if not isinstance(found, dict):
        return []
    return [(name, one if isinstance(one, dict) else {}) for name, one in found.items()]


def _step(name: str, record: Mapping[str, Any], *, is_orphan: bool) -> StoredStep:
    at = _time(record.get("at"))
    ms = _number(record.get("ms"), LONGEST_MS)
    since = _time(record.get("since"))
    if since is None and at is not None:
        since = at - timedelta(milliseconds=ms or 0)
    return StoredStep(
        name,
        _text(record.get("state")) or "unknown",
        _number(record.get("tries", record.get("attempts")), MOST_ATTEMPTS),
        since,
        at,
        ms,
        _time(record.get("until")),
        _text(record.get("signal")),
        _error(record.get("error")),
        len(jsonio.dumps(record["result"])) if "result" in record else None,
        is_orphan,
        _id(record.get("job")),
        _id(record.get("workflow")),
    )


def _error(raw: object) -> str | None:
    if not isinstance(raw, dict):
        return None
    return ": ".join(text for text in (_text(raw.get("type")), _text(raw.get("message"))) if text)


def _id(raw: object) -> str | None:
    return raw if isinstance(raw, str) and is_id(raw) else None


def _text(raw: object) -> str | None:
    return raw if isinstance(raw, str) else None


def _number(raw: object, most: int) -> int | None:
    is_number = isinstance(raw, int) and not isinstance(raw, bool)
    return raw if is_number and 0 <= raw <= most else None  # type: ignore[operator,return-value]


def _time(raw: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
    if found is None or not 1971 < found.year < 9000:  # noqa: PLR2004 - times that can be shifted
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
