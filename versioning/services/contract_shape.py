"""Encode the assistant's answer as JSON, in one shape for the API and the command line."""

from typing import Any

from jobs.domain.wire.times import format_time
from versioning.domain.removal import Removal, Use
from versioning.services.contract import Accepts, Assessment


def encode(found: Assessment) -> dict[str, Any]:
    """Encode all except the versions, which `encode_use` encodes."""
    return {
        "unversioned": encode_use(found.unversioned),
        "accepts": [_accepts(one) for one in found.accepts],
        "sent_known_since": found.looked.since and format_time(found.looked.since),
        "dead_letters_at_least": found.dead_at_least,
        "removals": [encode_removal(one) for one in found.removals],
    }


def encode_use(use: Use) -> dict[str, Any]:
    """Encode the use of a version, without its name."""
    jobs = use.jobs
    return {
        "available": jobs.available,
        "active": jobs.active,
        "scheduled": jobs.scheduled,
        "retryable": jobs.retryable,
        "pending": jobs.pending,
        "at_least": sorted(jobs.at_least),
        "dead_letters": use.dead_letters,
        "workers": use.workers,
        "unheard": use.unheard,
        "last_sent_at": use.last_sent_at and format_time(use.last_sent_at),
        "will_be_sent": [
            {"source": one.source, "senders": one.senders, "resting": one.resting}
            for one in use.coming
        ],
    }


def encode_removal(one: Removal) -> dict[str, Any]:
    """Encode an answer with its reasons, the decisive reasons first."""
    return {
        "versions": one.removed,
        "safe": one.safe.value,
        "reasons": [
            {"code": why.why.value, "message": why.message, "allows": why.forces.value}
            for why in one.reasons
        ],
    }


def _accepts(one: Accepts) -> dict[str, Any]:
    return {
        "declared": one.versions and list(one.versions),
        "accepted": [str(version) for version in one.accepted],
        "workers": one.workers,
        "unheard": one.unheard,
    }
