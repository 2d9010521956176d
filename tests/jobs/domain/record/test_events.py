"""The event vocabulary. Spec: contract 12.4, 25.2."""

import pytest

from jobs.domain.record.events import ALSO, NAMES, Kind, matches
from tests.spec import spec

UNNAMED = {Kind.MOVED, Kind.REMOVED, Kind.LEFT_QUEUE, Kind.CAME_TO_QUEUE, Kind.RESTORED}


@spec("contract 25.2")
def test_every_kind_has_a_number_and_a_name_of_its_own() -> None:
    assert len(Kind.__members__) == len(set(Kind)), "two kinds share a number"
    assert NAMES.keys() == set(Kind) - UNNAMED
    assert len(set(NAMES.values())) == len(NAMES)


@spec("contract 25.2")
def test_names_are_those_of_the_catalogue() -> None:
    catalogue = {
        "dead_letter.pruned", "priority.changed", "progress.updated", "progress.completed",
        "progress.stalled", "system.maintenance_enabled", "system.maintenance_disabled",
    }  # fmt: skip

    assert catalogue <= {*NAMES.values(), *ALSO.values()}


PROGRESS = ["job.progress", "progress.updated", "progress.*", "job.*", "*"]


@spec("contract 25.2")
@pytest.mark.parametrize("pattern", PROGRESS)
def test_a_filter_may_name_progress_either_way(pattern: str) -> None:
    assert matches("job.progress", [pattern])
    assert not matches("job.progressed", ["progress.updated"])
