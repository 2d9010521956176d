"""No schedule fires during maintenance. Spec: contract 24.1."""

from jobs.domain.access.caller import Caller
from jobs.services.operate import maintenance
from scheduling.models import CronEntry
from scheduling.services.cron_fire import due_in_ms, fire
from tests.scheduling.conftest import make_due
from tests.spec import spec


@spec("contract 24.1")
def test_nothing_is_due_during_maintenance(nightly: CronEntry) -> None:
    make_due()
    maintenance.start(Caller("me"), reason=None, duration_ms=None)

    assert (fire(), due_in_ms()) == (0, None)

    maintenance.end(Caller("me"))
    assert fire() == 1
