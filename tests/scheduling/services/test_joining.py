"""Tenants that join or rejoin a queue have neither credit nor debt. Spec: FS 9."""

from collections import Counter

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Lane
from jobs.services.dispatch.fetch import fetch, low_water_marks
from tests.scheduling.pools import of_tenant
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def take(number: int, size: int = 1) -> Counter[str]:
    """Fetch this number of jobs; return how many each tenant got."""
    low_water_marks.clear()
    requests = [FetchRequest(("q",), size)] * (number // size)
    return Counter(job.tenant for one in requests for job in fetch(one).jobs)


def worked(*tenants: str) -> None:
    """Let tenants share the queue until it is empty."""
    for tenant in tenants:
        of_tenant(tenant, 100)
    take(100 * len(tenants), 10)
    assert not take(10, 10)  # this claim finds the lanes empty


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("first", ["old", "new"])
@spec("FS-9.2-b")
def test_what_tenants_got_while_another_had_nothing_is_not_held_against_them(
    first: str, size: int
) -> None:
    worked("old", "other")
    for tenant in (first, "new" if first == "old" else "old"):
        of_tenant(tenant, 40)

    found = take(40, size)
    assert found.total() == 40
    assert abs(found["old"] - found["new"]) <= 2  # a job each: contract 20.4


@spec("FS-9.2-b")
def test_tenants_that_worked_at_different_times_are_equals() -> None:
    for tenants in ("ab", "ab", "bc", "a"):
        worked(*tenants)
    for tenant in "bca":
        of_tenant(tenant, 30)

    found = take(30)
    assert found.total() == 30
    assert max(found.values()) - min(found.values()) <= 2


@spec("FS-9.2-b")
def test_who_has_one_job_at_a_time_gets_no_more_than_its_share() -> None:
    of_tenant("many", 60)
    of_tenant("few", 1)
    found: Counter[str] = Counter()
    for _ in range(40):
        got = take(1)
        found.update(got)
        of_tenant("few", got["few"])

    assert abs(found["few"] - found["many"]) <= 2


@spec("FS-9.2-a")
def test_share_by_weight_holds_for_who_comes_back() -> None:
    worked("heavy", "other")
    Lane.objects.filter(tenant="heavy").update(weight=3)
    of_tenant("light", 40)
    of_tenant("heavy", 40)

    assert abs(take(40)["heavy"] - 30) <= 1
