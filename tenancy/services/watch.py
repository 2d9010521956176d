"""Find noisy tenants and throttle them: the body of the loop `noise`.

Spec: MT 9, contract 21.5.
"""

from dataclasses import fields

from jobs.database import atomic
from tenancy import queries
from tenancy.conf import conf
from tenancy.domain.noise import Rules, noisy
from tenancy.domain.throttle import OFF
from tenancy.services import noise, throttles

SURVEY_MINUTES = 5
LOUD_JOBS = 100  # least activity in this time by which a tenant stands out
BUSIEST = 200  # ranked tenants


def watch() -> int:
    """Look once; returns how many tenants began or ceased to be noisy, or were throttled.

    1. Store the noisy tenants by the aggregated last minute, and the activity of all (`Survey`).
    2. Extend the throttles of noisy tenants, and begin missing throttles.

    If the process is killed, the next look begins a missing throttle that is still due.
    Locks: one look at a time (advisory, tried), only in step 1; then the locks of each throttle.
    """
    with atomic():
        if not queries.alone():
            return 0
        samples = {one.tenant: one for one in queries.samples()}
        found = noisy(list(samples.values()), rules())
        changed = noise.note(found)
        survey()
    if conf().auto_throttle == OFF:
        return changed
    throttles.extend(found.keys())
    for tenant, signals in sorted(found.items()):
        reasons = [str(one.reason) for one in signals]
        changed += throttles.begin(tenant, reasons, active=samples[tenant].active)
    return changed


def survey() -> None:
    """Store the recent activity of all tenants and the busiest, for the pages that list them."""
    queries.survey(SURVEY_MINUTES, least=LOUD_JOBS, most=BUSIEST)


def rules() -> Rules:
    """Return the rules of the settings."""
    return Rules(**{one.name: getattr(conf(), f"noise_{one.name}") for one in fields(Rules)})
