"""Compression: `gzip/plain` and `zstd/plain`. Values that do not shrink stay as they are."""

import threading
import zlib
from importlib import import_module
from typing import Any, Final

from ojs_tasks.codecs.errors import CodecFailed
from ojs_tasks.codecs.protocol import Encoded, Facts

MOST_BYTES: Final = 16 * 1024 * 1024  # of a decompressed value
LEAST_BYTES: Final = 128  # shorter values hardly shrink
GZIP: Final = 16 + zlib.MAX_WBITS  # zlib reads and writes the gzip format


class Gzip:
    """`gzip/plain`, with the standard library."""

    names: Final = ("gzip/plain",)

    def __init__(self, level: int = 6) -> None:
        """Take the level, from 1 (fast) to 9 (small). Raises ValueError."""
        if not 1 <= level <= zlib.Z_BEST_COMPRESSION:
            raise ValueError("Gzip takes a level from 1 to 9")
        self._level = level

    def encode(self, data: bytes, facts: Facts) -> Encoded | None:
        """Return the compressed bytes, None if they are not shorter."""
        if len(data) < LEAST_BYTES:
            return None
        return shorter(self.names[0], data, zlib.compress(data, self._level, wbits=GZIP))

    def decode(self, encoding: str, data: bytes, facts: Facts) -> bytes:
        """Return the bytes that were compressed. Raises CodecFailed."""
        stream = zlib.decompressobj(wbits=GZIP)
        try:
            found = stream.decompress(data, MOST_BYTES)
        except zlib.error:
            raise CodecFailed("the value is no gzip stream") from None
        if stream.unconsumed_tail or not stream.eof or stream.unused_data:
            raise CodecFailed(f"the gzip stream is cut off or has more than {MOST_BYTES} bytes")
        return found


class Zstd:
    """`zstd/plain`, with the package zstandard: the extra `codecs`."""

    names: Final = ("zstd/plain",)

    def __init__(self, level: int = 3) -> None:
        """Take the level, from 1 (fast) to 19 (small). Raises ValueError or ImportError."""
        if not 1 <= level <= 19:  # noqa: PLR2004
            raise ValueError("Zstd takes a level from 1 to 19")
        try:
            self._library: Any = import_module("zstandard")
        except ImportError:
            raise ImportError(
                "Zstd needs the package zstandard: pip install ojs-django[codecs]"
            ) from None
        self._level = level
        self._own = threading.local()  # its contexts are not safe between threads

    def encode(self, data: bytes, facts: Facts) -> Encoded | None:
        """Return the compressed bytes, None if they are not shorter."""
        if len(data) < LEAST_BYTES:
            return None
        return shorter(self.names[0], data, self._compressor().compress(data))

    def decode(self, encoding: str, data: bytes, facts: Facts) -> bytes:
        """Return the bytes that were compressed. Raises CodecFailed."""
        try:
            size = self._library.frame_content_size(data)
            if size > MOST_BYTES:
                raise CodecFailed(f"the zstd frame has more than {MOST_BYTES} bytes")
            found: bytes = self._decompressor().decompress(
                data, max_output_size=MOST_BYTES, allow_extra_data=False
            )
        except self._library.ZstdError:
            raise CodecFailed("the value is no zstd frame") from None
        return found

    def _compressor(self) -> Any:
        if not hasattr(self._own, "compressor"):
            self._own.compressor = self._library.ZstdCompressor(level=self._level)
        return self._own.compressor

    def _decompressor(self) -> Any:
        if not hasattr(self._own, "decompressor"):
            self._own.decompressor = self._library.ZstdDecompressor()
        return self._own.decompressor


def shorter(encoding: str, data: bytes, compressed: bytes) -> Encoded | None:
    """Return the compressed bytes if they are shorter."""
    return Encoded(encoding, compressed) if len(compressed) < len(data) else None
