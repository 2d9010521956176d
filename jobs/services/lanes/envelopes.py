"""Return the limits of envelopes from the settings. Spec: contract 1.6, 28.1, 31.3."""

from dataclasses import replace
from functools import cache

from jobs.conf import conf, read_anew
from jobs.domain.enqueue.server_limits import Limits
from jobs.domain.outcome.retry import DEFAULT_POLICY


@cache
def limits() -> Limits:
    """Return the limits of every envelope, for every sender."""
    return Limits(
        max_envelope_bytes=conf().max_envelope_bytes,
        max_meta_bytes=conf().max_meta_bytes,
        types=conf().job_types,
        takes_unknown=not conf().strict_attributes,
        takes_newlines=not conf().meta_reject_newlines,
        retry=DEFAULT_POLICY._replace(on_exhaustion=conf().default_on_exhaustion),
    )


@cache
def stored_limits() -> Limits:
    """Return the limits of a template that this server or an earlier release accepted."""
    return replace(limits(), takes_any_names=True)


read_anew(limits, stored_limits)
