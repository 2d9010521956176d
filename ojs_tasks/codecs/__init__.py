"""Codecs: compress and encrypt the arguments of jobs before they leave this process.

    from ojs_tasks.codecs import Encryption, KeyRing, Zstd

    OJS = {"CODECS": [Zstd(), Encryption(KeyRing.from_env("OJS_CODEC_KEYS"))]}

The server stores what it is given: it never has a key. Spec: contract 35.
"""

from ojs_tasks.codecs.compression import Gzip, Zstd
from ojs_tasks.codecs.encryption import Encryption
from ojs_tasks.codecs.errors import CodecFailed, CodecKeyUnknown
from ojs_tasks.codecs.keys import Key, KeyRing
from ojs_tasks.codecs.protocol import Codec, Facts

__all__ = [
    "Codec",
    "CodecFailed",
    "CodecKeyUnknown",
    "Encryption",
    "Facts",
    "Gzip",
    "Key",
    "KeyRing",
    "Zstd",
]
