"""A job before a region has it. Spec: federation 6, contract 23.2."""

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
    """A job to enqueue, with its routing; the members below `meta` are added to `meta`.

    `options` are further members of the envelope: `priority`, `scheduled_at`, `retry` and so on.
    """

    type: str
    args: Sequence[Any] = ()
    queue: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    region: str | None = None  # pins the job
    strategy: str | None = None
    tags: Sequence[str] | None = None  # that the region must have
    weights: Mapping[str, float] | None = None  # of the strategy `weighted`
    federation_id: str | None = None  # to repeat an enqueue that may have stored the job
    in_doubt: Sequence[str] | None = None  # then: regions that may have the job, from the error
    options: Mapping[str, Any] = field(default_factory=dict)

    def full_meta(self) -> dict[str, Any]:
        """Return the meta with the federation keys.

        Raises InvalidFederationMeta if `meta` has another value for such a key.
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
                raise InvalidFederationMeta.field(
                    f"meta.{key}", "has two different values: give it once"
                )
        return found

    def envelope(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of an enqueue."""
        body = {**self.options, "type": self.type, "args": list(self.args), "meta": meta}
        if self.queue is not None:
            body["queue"] = self.queue
        return body
