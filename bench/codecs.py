"""The cost of codecs: encode and decode 1 KB of arguments, in this process."""

import json
import os
import random
import string
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, Final, NamedTuple

from ojs_tasks.codecs import Codec, Encryption, Gzip, Key, KeyRing, Zstd
from ojs_tasks.codecs.coding import Coding, facts_of

BYTES: Final = 1024
CALLS, SLICES = 1000, 9
TYPE: Final = "bench.coded"


class Cost(NamedTuple):
    """Microseconds of CPU to encode and decode once: the bytes alone, and the arguments of a job.

    The bar is about the bytes. The arguments of a job also take JSON, base64 and `meta`.
    """

    codecs: str
    bytes_us: float
    job_us: float


def measure() -> Iterator[Cost]:
    """Measure encryption alone, and with each compression."""
    encryption = Encryption(KeyRing.of(Key("2026", os.urandom(32))))
    chosen: dict[str, list[Codec]] = {
        "Encryption": [encryption],
        "Zstd, Encryption": [Zstd(), encryption],
        "Gzip, Encryption": [Gzip(), encryption],
    }
    for name, codecs in chosen.items():
        coding = Coding(codecs)
        yield Cost(name, _us(_of_bytes(coding)), _us(_of_job(coding)))


def _of_bytes(coding: Coding) -> Any:
    data, facts = json.dumps(_args()).encode(), facts_of({}, TYPE)

    def run() -> None:
        payload = coding.encode(data, facts)
        if payload is None or coding.decode(payload, facts) != data:
            raise RuntimeError("the codecs do not return what they got")

    return run


def _of_job(coding: Coding) -> Any:
    draft = {"type": TYPE, "args": _args()}

    def run() -> None:
        coded = coding.draft(draft)
        coding.args(coded["args"], coded["meta"], TYPE)

    return run


def _args() -> list[dict[str, str]]:
    """Return arguments of 1 KB as JSON: words, which compress as texts do."""
    draw = random.Random(1)  # noqa: S311 - the same words each time
    words = ["".join(draw.choices(string.ascii_lowercase, k=6)) for _ in range(60)]
    text = " ".join(draw.choices(words, k=BYTES))
    spare = BYTES - len(json.dumps([{"note": ""}]))
    return [{"note": text[:spare]}]


def _us(run: Any) -> float:
    found = []
    for _ in range(SLICES):
        began = time.process_time()
        for _ in range(CALLS):
            run()
        found.append((time.process_time() - began) / CALLS * 1_000_000)
    return median(found)
