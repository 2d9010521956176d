"""Attempts as a worker with a database runs them: with spans, and results that can be stored."""

from typing import Final

from jobs import spans
from jobs.conf import conf
from jobs.domain.errors import InvalidPayload, ResultTooLarge
from jobs.domain.wire import jsonio
from ojs_tasks.worker.execution import Execution


def _check(result: bytes) -> None:
    """Check a result before its ACK, which the database would refuse for ever.

    Raises InvalidPayload or ResultTooLarge.
    """
    if jsonio.NUL in result:
        jsonio.loads(result)  # raises for the character itself, not for the text of the escape
    if len(result) > conf().max_result_bytes:
        raise ResultTooLarge.of("result", conf().max_result_bytes, len(result))


EXECUTION: Final = Execution(
    around=spans.consuming, check=_check, refusals=(InvalidPayload, ResultTooLarge)
)
