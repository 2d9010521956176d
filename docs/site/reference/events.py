"""The names of all events, by their subject."""

from itertools import groupby
from typing import Final

from jobs.domain.record.events import NAMES

HEAD: Final = """# Events

The server stores an event for each change of a job and for changes of queues, workers and other
parts. [Events and streams](../contract/25-events-and-realtime.md) describes their members, and
[webhooks](../contract/26-webhooks.md) their delivery. A subscription may name an event or a prefix.

| subject | events |
|---|---|
"""


def page() -> str:
    """Return the page in Markdown."""
    by_subject = groupby(sorted(NAMES.values()), key=lambda name: name.partition(".")[0])
    rows = (
        f"| `{subject}` | {', '.join(f'`{name}`' for name in names)} |\n"
        for subject, names in by_subject
    )
    return HEAD + "".join(rows)
