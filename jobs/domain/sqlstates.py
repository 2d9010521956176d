"""Map errors of the database to answers: one table, by SQLSTATE.

A code that is not listed is looked up by its class, the first two characters. An error without
either is a fault of the server. Codes:
https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobs.domain.errors import BackendError, BackendTimeout, BackendUnavailable, OJSError


@dataclass(frozen=True, slots=True)
class Refusal:
    """The meaning of an error code."""

    error: type[OJSError]
    message: str
    is_undone: bool = True  # the transaction had no effect
    may_repeat: bool = False  # the same transaction is likely to succeed at once
    stops_writes: bool = False  # all writes are refused, until an operator or time helps


LOST: Final = Refusal(BackendUnavailable, "the database cannot be reached", is_undone=False)
NOT_REACHED: Final = Refusal(BackendUnavailable, "the database cannot be reached")
LATE: Final = Refusal(BackendTimeout, "the database took too long")
MISTAKE: Final = Refusal(BackendError, "the server failed to answer")
BEATEN: Final = Refusal(
    BackendUnavailable, "other transactions were in the way, and nothing was done", may_repeat=True
)
SHORT: Final = Refusal(BackendUnavailable, "the database has no resources left", stops_writes=True)
READ_ONLY: Final = Refusal(BackendUnavailable, "the database is read-only", stops_writes=True)
BROKEN: Final = Refusal(
    BackendUnavailable, "the database cannot read or write its files", stops_writes=True
)

_BY_CODE: Final[Mapping[str, Refusal]] = {
    "08001": NOT_REACHED,  # no connection was made
    "08004": NOT_REACHED,  # a connection was refused
    "25006": READ_ONLY,  # read_only_sql_transaction: a standby, or the primary before a failover
    "25P03": LOST,  # idle_in_transaction_session_timeout
    "25P04": LATE,  # transaction_timeout
    "40001": BEATEN,  # serialization_failure
    "40P01": BEATEN,  # deadlock_detected
    "40003": LOST,  # statement_completion_unknown
    "53300": NOT_REACHED,  # too_many_connections
    "55006": BEATEN,  # object_in_use
    "55P03": LATE,  # lock_not_available: lock_timeout
    "57014": LATE,  # query_canceled: statement_timeout
    "57P03": NOT_REACHED,  # cannot_connect_now
    "58P01": BROKEN,  # undefined_file
}
_BY_CLASS: Final[Mapping[str, Refusal]] = {
    "08": LOST,  # connection exception
    "53": SHORT,  # insufficient resources: 53100 disk_full, 53200 out_of_memory
    "57": LOST,  # operator intervention: 57P01 admin_shutdown, 57P02 crash_shutdown
    "58": BROKEN,  # system error: 58030 io_error
    "XX": MISTAKE,  # internal error: 500 in the log, and retryable as every 500
}


def refusal_of(sqlstate: str | None) -> Refusal:
    """Return the meaning of a code; None: the connection was lost before there was a code."""
    if sqlstate is None:
        return LOST
    return _BY_CODE.get(sqlstate) or _BY_CLASS.get(sqlstate[:2]) or MISTAKE
