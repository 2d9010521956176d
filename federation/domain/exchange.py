"""One request to a region and its answer, independent of the transport."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from federation.domain.delivery import Fate, Report, answered
from federation.domain.reasons import Reason
from federation.domain.region import is_region_id

API: Final = "/ojs/v1"
HEALTH: Final = f"{API}/health"
MAX_DOUBTS: Final = 256  # regions that an answer may name
UNKNOWN: Final = "unknown"  # details.outcome of a server that has lost its database since


@dataclass(frozen=True, slots=True)
class Call:
    """A request to make; `path` follows the region's URL, `body` is encoded JSON."""

    region: str
    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None  # None: the timeout of the transport


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of any status; `body` is its JSON, None if it is no JSON."""

    status: int
    body: Any
    elapsed_ms: float
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    @property
    def report(self) -> Report:
        """The meaning of the answer for a job that was sent."""
        found = answered(self.status, self.retry_after_s)
        if found.fate is not Fate.BUSY:
            return found
        named = self._details.get("in_doubt")
        doubts = named if isinstance(named, list) else []
        is_unknown = self._details.get("outcome") == UNKNOWN
        return replace(
            found,
            fate=Fate.AMBIGUOUS if is_unknown else Fate.BUSY,
            in_doubt=tuple(one for one in doubts[:MAX_DOUBTS] if is_region_id(one)),
        )

    @property
    def _details(self) -> Mapping[str, Any]:
        error = self.body.get("error") if isinstance(self.body, dict) else None
        details = error.get("details") if isinstance(error, dict) else None
        return details if isinstance(details, dict) else {}

    @property
    def retry_after_s(self) -> float:
        """The seconds of Retry-After; 0 without."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0.0  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer; `is_own` when the region is not to blame."""

    fate: Fate  # NOT_SENT or AMBIGUOUS
    reason: Reason
    is_own: bool = False

    @property
    def report(self) -> Report:
        """The meaning of the failure for a job that was sent."""
        return Report(self.fate, reason=self.reason)
