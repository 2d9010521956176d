"""The errors of codecs. Their texts name keys and encodings, never data."""

from typing import ClassVar


class CodecKeyUnknown(Exception):
    """This process lacks the key or the codec; another worker, or this one later, may have it.

    An attempt that raises it is retried by the policy.
    """

    code: ClassVar[str] = "codec_key_unknown"


class CodecFailed(Exception):
    """The encoded value was changed or is malformed. An attempt that raises it is not retried."""

    code: ClassVar[str] = "codec_failed"
