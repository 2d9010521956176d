"""Find noisy neighbours and throttle them: the body of the loop `noise`.

Spec: MT 9, contract 21.5.
"""

from dataclasses import fields

from django.db import transaction

from tenancy import queries
from tenancy.conf import conf
from tenancy.domain.noise import Rules, noisy
from tenancy.domain.throttle import OFF
from tenancy.services import noise, throttles

SURVEY_MINUTES = 5
LOUD_JOBS = 100  # in them, at least, of a tenant that stands out by what it does
BUSIEST = 200  # tenants that are ranked


def watch() -> int:
    """Look once; returns how many tenants began or ceased to be noisy, or are throttled from now.

    1. Note who is noisy by what was folded of the last minute, and what all do (`Survey`).
    2. Let the throttles of noisy tenants last on, and begin those that are missing.

    Whatever is killed when: a throttle that was not begun is by the next look, if it is still due.
    Locks: one look at a time (advisory, tried), in 1 alone; then those of each throttle.
    """
    with transaction.atomic():
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
    """Note what all tenants did lately and which were busiest, for the pages that list them."""
    queries.survey(SURVEY_MINUTES, least=LOUD_JOBS, most=BUSIEST)


def rules() -> Rules:
    """Return what the settings say."""
    return Rules(**{one.name: getattr(conf(), f"noise_{one.name}") for one in fields(Rules)})
