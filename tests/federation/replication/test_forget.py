"""Removal of the copies of a region that never returns. Spec: contract 23.6."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from federation.models import FederatedJob, ReplicationPeer
from federation.services.registry.configure import delete_region
from federation.services.replication import forget_region
from federation.services.replication.adopt import Order as Adoption
from federation.services.replication.adopt import adopt
from federation.services.replication.forget_region import Order, forget_copies
from jobs.domain.errors import Conflict
from jobs.models import Audit
from jobs.models import Job as Row
from tests.concurrency import at_once
from tests.federation.replication.lost import federate, lost
from tests.federation.replication.rig import (
    AP,
    EU,
    LOCAL,
    capture,
    federated,
    later,
    replica,
    replicate,
    send,
)
from tests.jobs.api.conftest import new_key, with_keys

__all__ = ["new_key", "with_keys"]
pytestmark = pytest.mark.usefixtures("store")

Key = Callable[..., dict[str, Any]]


def count_copies(region: str) -> int:
    """Return the number of copies of a region's jobs."""
    return FederatedJob.objects.filter(origin_region=region).count()


def test_copies_of_a_region_that_left_the_registry_are_removed_with_what_was_noted_of_it() -> None:
    federate()
    replicate(*[replica() for _ in range(5)])
    replicate(replica(origin_region=AP))
    federated()
    capture()
    delete_region(EU)

    found = forget_copies(Order(EU, reason="sold"))

    assert (found.removed, found.is_done) == (5, True)
    assert (count_copies(EU), count_copies(AP), count_copies(LOCAL)) == (0, 1, 1)
    assert not ReplicationPeer.objects.filter(region=EU).exists()
    entry = Audit.objects.get(action="federation.copies_removed")
    assert (entry.target, entry.reason, entry.data["removed"]) == (EU, "sold", 5)


def test_it_goes_in_steps_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget_region, "SLICE", 2)
    federate()
    replicate(*[replica() for _ in range(7)])
    delete_region(EU)

    dry = forget_copies(Order(EU, limit=5, dry_run=True))
    first = forget_copies(Order(EU, limit=5))
    rest = forget_copies(Order(EU, limit=5))

    assert [(one.removed, one.is_done) for one in (dry, first, rest)] == [
        (5, False), (5, False), (2, True),
    ]  # fmt: skip


def test_best_of_the_copies_that_stay_wins_then() -> None:
    federate()
    gone = replica(enqueued_at=later(9))
    replicate(gone)
    others = [
        replica(federation_id=gone.federation_id, origin_region=AP, enqueued_at=later(ms))
        for ms in (3, 5)
    ]
    replicate(*others)
    delete_region(EU)

    forget_copies(Order(EU))

    left = FederatedJob.objects.filter(federation_id=gone.federation_id, winner=True)
    assert [str(one.job_id) for one in left] == [others[1].job_id]


def test_jobs_that_were_adopted_from_it_stay() -> None:
    federate(mode="full")
    lost()
    adopt(Adoption(EU))
    delete_region(EU)

    assert forget_copies(Order(EU)).removed == 1

    assert Row.objects.count() == 1


def test_region_that_is_registered_is_refused_and_nothing_goes() -> None:
    federate()
    replicate(replica())

    with pytest.raises(Conflict, match="is registered"):
        forget_copies(Order(EU))

    assert count_copies(EU) == 1


def test_many_who_remove_at_once_remove_each_once() -> None:
    federate()
    replicate(*[replica() for _ in range(30)])
    delete_region(EU)

    found = at_once([partial(forget_copies, Order(EU, limit=10)) for _ in range(4)])

    assert sum(one.removed for one in found) == 30
    assert count_copies(EU) == 0


def ask(body: object = None, region: str = EU, **headers: str) -> Any:
    return send("POST", f"/admin/federation/regions/{region}/forget", body, **headers)


def test_operator_removes_over_http(new_key: Key) -> None:
    federate()
    replicate(replica(), replica(), **new_key("ojs:federation:write"))
    purging = new_key("ojs:admin:purge")

    assert ask(**new_key("ojs:admin:write")).status_code == 403
    assert ask(**new_key("ojs:admin:purge", tenant="a")).status_code == 403
    assert ask(**purging).status_code == 409
    delete_region(EU)
    assert ask({"limit": 1}, **purging).json() == {
        "region": EU, "dry_run": False, "removed": 1, "done": False,
    }  # fmt: skip
    assert ask({"dry_run": True}, **purging).json()["removed"] == 1
    assert ask(**purging).json()["done"] is True
    assert ask(**purging).status_code == 404
    assert ask(region=LOCAL, **purging).status_code == 400
    assert ask(region="%00", **purging).status_code == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [({"limit": 0}, "limit"), ({"dry_run": 1}, "dry_run"), ({"reason": 5}, "reason"),
     ({"force": True}, "force")],
)  # fmt: skip
def test_request_is_checked(body: dict[str, Any], field: str) -> None:
    federate()

    answer = ask(body)

    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


def test_command_removes_all_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("federation.management.commands.forget_copies.MOST", 2)
    federate()
    replicate(*[replica() for _ in range(5)])
    with pytest.raises(CommandError, match="is registered"):
        call_command("forget_copies", EU)
    delete_region(EU)

    call_command("forget_copies", EU, "--dry-run")
    call_command("forget_copies", EU)

    said = capsys.readouterr().out
    assert "would remove 2 or more" in said
    assert "removed 5 copies" in said
