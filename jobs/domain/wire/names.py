"""The grammar of names that clients choose: types, queues, members of `meta`, schemas."""

import re
from typing import Final

from jobs.domain.wire.bounds import MAX_META_NAME, MAX_QUEUE
from ojs_tasks import versions

TYPE_PATTERN: Final = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")
VERSIONED_TYPE_PATTERN: Final = re.compile(f"{TYPE_PATTERN.pattern}(@{versions.PATTERN.pattern})?")
QUEUE_PATTERN: Final = re.compile(rf"[a-z0-9][a-z0-9.-]{{0,{MAX_QUEUE - 1}}}")
URI_PATTERN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
META_NAME: Final = re.compile(rf"[a-zA-Z0-9_.:-]{{1,{MAX_META_NAME}}}")  # Spec: contract 31.3
