"""Read the event stream of a job, as far as a wait needs it: has the job ended?"""

from typing import Final

from ojs_tasks.remote.wire import loads
from ojs_tasks.server import ENDED

MAX_LINE_BYTES: Final = 1024 * 1024
DATA: Final = b"data:"


class Ending:
    """Looks for the event of a job's end in the chunks of a stream."""

    def __init__(self) -> None:
        """Begin before the first chunk."""
        self._rest = b""

    def is_in(self, chunk: bytes) -> bool:
        """Return whether a line that this chunk completes reports the end of the job.

        A line of more than a mebibyte counts as the end: the caller looks at the job then.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            return True
        return any(_is_end(line) for line in lines if line.startswith(DATA))


def _is_end(line: bytes) -> bool:
    event = loads(line[len(DATA) :])
    return isinstance(event, dict) and not ENDED.isdisjoint(
        value for value in (event.get("to"), event.get("state")) if isinstance(value, str)
    )
