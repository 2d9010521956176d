"""Repair of lanes that hold jobs and are not active."""

import logging

import pytest
from django.db import transaction

from jobs.models import Lane
from jobs.services.lanes import lanes
from jobs.services.upkeep.heal import heal
from tests.factories import stored_ids
from tests.jobs.services.lanes.test_limits import fetched

pytestmark = pytest.mark.usefixtures("store")


def test_a_lane_that_is_not_offered_is_found_at_the_second_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ids = stored_ids(2)
    Lane.objects.update(active=False)

    with caplog.at_level(logging.ERROR, "ojs.heal"):
        assert heal() == 0
        assert not caplog.records
        assert heal() == 1

    assert [(one.message, vars(one)["count"]) for one in caplog.records] == [("lanes.healed", 1)]
    assert fetched() == ids
    assert heal() == 0


def test_a_lane_is_no_alarm_between_a_commit_and_its_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    offered = lanes.wake

    def looked_at_and_offered(lane_ids: list[int]) -> None:
        looks.append(heal())
        offered(lane_ids)

    monkeypatch.setattr(lanes, "wake", looked_at_and_offered)
    for _ in range(2):
        with transaction.atomic():
            ids = stored_ids(1)
        assert fetched() == ids
        assert fetched() == []
        assert not Lane.objects.get().active  # the claim found the lane empty

    assert looks == [0, 0]
