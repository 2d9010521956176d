"""The position of an event in the record, and its names on the wire.

Spec: contract 12.3, 25.1.

The record is ordered by (stamp, seq), and one stored event may be read as several parts. Both names
of an event contain stamp, seq and part, so a reader can continue exactly behind any event. The id
is a UUIDv7 whose random bits are the position. The number (`seq` on the wire, the id of server-sent
events) is the position itself.
"""

from datetime import datetime
from typing import Final, NamedTuple

from uuid6 import UUID

SEQ_BITS: Final = 22  # within one stamp; the rest of a row's number follows from the stamp
PART_BITS: Final = 2
STAMP_BITS: Final = 63 - SEQ_BITS - PART_BITS
SEQ_MASK: Final = (1 << SEQ_BITS) - 1
MAX_DIGITS: Final = 19


class Place(NamedTuple):
    """A position; `seq` is cut to its low bits when it was read from a name."""

    stamp: int
    seq: int
    part: int = 1

    @property
    def number(self) -> int:
        """The position as one number of 63 bits that rises along the record."""
        return (
            (self.stamp & (1 << STAMP_BITS) - 1) << SEQ_BITS + PART_BITS
            | (self.seq & SEQ_MASK) << PART_BITS
            | self.part
        )


FIRST: Final = Place(0, 0, 0)


def event_id(place: Place, at: datetime) -> str:
    """Return the id of an event."""
    ms = int(at.timestamp() * 1000) & (1 << 48) - 1
    high, low = place.number >> 62, place.number & (1 << 62) - 1
    return f"evt_{UUID(int=ms << 80 | high << 64 | low, version=7)}"


def read_place(name: str) -> Place | None:
    """Return the position that an event id or number names, None for any other text."""
    if name.isascii() and name.isdigit() and len(name) <= MAX_DIGITS:
        return _place(int(name))
    try:
        number = UUID(name.removeprefix("evt_")).int
    except ValueError:
        return None
    return _place((number >> 64 & (1 << 12) - 1) << 62 | number & (1 << 62) - 1)


def _place(number: int) -> Place:
    stamp = number >> SEQ_BITS + PART_BITS & (1 << STAMP_BITS) - 1
    return Place(stamp, number >> PART_BITS & SEQ_MASK, number & (1 << PART_BITS) - 1)
