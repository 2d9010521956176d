"""A job before it is anywhere. Spec: federation 6, contract 23.2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from federation.domain.errors import InvalidFederationMeta
from federation.domain.meta import (
    FEDERATION_ID,
    IN_DOUBT,
    REGION,
    REGION_AFFINITY,
    TAGS,
    WEIGHTS,
)


@dataclass(frozen=True, slots=True)
class NewJob:
    """What to enqueue, and where; the members below `meta` end up in it.

    `options` are further members of the envelope: `priority`, `scheduled_at`, `retry` and so on.
    """

    type: str
    args: Sequence[Any] = ()
    queue: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    region: str | None = None  # pins the job
    strategy: str | None = None
    tags: Sequence[str] | None = None  # which the region must have
    weights: Mapping[str, float] | None = None  # of the strategy `weighted`
    federation_id: str | None = None  # to enqueue again what may be stored already
    in_doubt: Sequence[str] | None = None  # then: regions that may have it, as the error named them
    options: Mapping[str, Any] = field(default_factory=dict)

    def full_meta(self) -> dict[str, Any]:
        """Return the meta with the federation keys.

        Raises InvalidFederationMeta where it says something else already.
        """
        found = dict(self.meta)
        for key, value in (
            (FEDERATION_ID, self.federation_id),
            (REGION, self.region),
            (REGION_AFFINITY, self.strategy),
            (TAGS, None if self.tags is None else list(self.tags)),
            (IN_DOUBT, None if self.in_doubt is None else list(self.in_doubt)),
            (WEIGHTS, None if self.weights is None else dict(self.weights)),
        ):
            if value is not None and found.setdefault(key, value) != value:
                raise InvalidFederationMeta.field(f"meta.{key}", "is given twice, differently")
        return found

    def envelope(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request."""
        body = {**self.options, "type": self.type, "args": list(self.args), "meta": meta}
        if self.queue is not None:
            body["queue"] = self.queue
        return body
