"""Parse and run requests for simulations, for the command and the console."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from jobs.domain.errors import Unprocessable
from scheduling.domain.change import Change, parse_change, within
from scheduling.domain.scenario import parse_scenario
from scheduling.domain.workload import MOST_JOBS, Workload
from scheduling.services import pool_cache
from scheduling.services.past import past
from scheduling.services.simulate import Comparison, Context, changed, compare, configured


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for a simulation: the last minutes or a scenario, and the changes, as text.

    Without changes nothing is compared. `seed` overrides the scenario's own.
    """

    minutes: int | None = None
    scenario: str = ""
    changes: str = ""
    seed: int | None = None
    most_jobs: int = MOST_JOBS


def check(wish: Wish) -> None:
    """Refuse a simulation whose texts have errors. Raises OJSError."""
    _read(wish)


def run(
    wish: Wish,
    *,
    progress: Callable[[float], None] = lambda _part: None,
    most_s: float | None = None,
    after: Context | None = None,
) -> Comparison:
    """Simulate. Raises OJSError, and TooLong after `most_s` seconds.

    `after` surrounds the simulation with the change; it may itself be the change.
    """
    load, before, change = _read(wish)
    pools = pool_cache.read()
    if load is None:
        load = past(wish.minutes or 0, wish.most_jobs, pools)
    setup = within("scenario", lambda: changed(configured(load, pools), before))
    other = within("changes", lambda: changed(setup, change)) if change else None
    if after is not None:
        other = replace(other or setup, context=after)
    return compare(load, setup, other, progress=progress, most_s=most_s)


def _read(wish: Wish) -> tuple[Workload | None, Change, Change | None]:
    from scheduling.domain.yaml_text import read_yaml  # noqa: PLC0415 - of the extra `console`

    if (wish.minutes is None) == (not wish.scenario.strip()):
        raise Unprocessable.field("minutes", "or a scenario is required: give exactly one of them")
    changes = read_yaml(wish.changes, "changes")
    change = within("changes", lambda: parse_change(changes)) if changes else None
    if wish.minutes is not None:
        return None, Change(), change
    raw = read_yaml(wish.scenario, "scenario")
    scenario = within("scenario", lambda: parse_scenario(raw, wish.most_jobs, seed=wish.seed))
    return scenario.load, scenario.before, change
