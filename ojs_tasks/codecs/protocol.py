"""`Codec`: one way to encode bytes, and the facts it may use."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Facts:
    """The job that a value belongs to. Encoding and decoding see the same facts."""

    type: str
    tenant: str = ""  # of the job's meta; "" without one
    key_id: str | None = None  # when decoding: the key that the job names


class Encoded(NamedTuple):
    """The output of a codec; `encoding` is the name that decoding needs."""

    encoding: str
    data: bytes
    key_id: str | None = None


class Codec(Protocol):
    """A codec of the setting CODECS."""

    @property
    def names(self) -> Iterable[str]:
        """The encodings that `decode` knows, without their parameters."""

    def encode(self, data: bytes, facts: Facts) -> Encoded | None:
        """Return the encoded bytes; None leaves this codec out for them. Raises CodecKeyUnknown."""

    def decode(self, encoding: str, data: bytes, facts: Facts) -> bytes:
        """Return the bytes that were encoded. Raises CodecFailed or CodecKeyUnknown."""
