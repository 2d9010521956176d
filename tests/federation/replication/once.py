"""A process that enqueues one job in each of its children, each killed one step later.

It prints the federation id of each child before the child starts. A step is a statement or a
commit. The last child is not killed.
"""

import os
import sys

import django

from tests.crash.victim import _arm


def main() -> None:
    """Enqueue in children until one is not killed."""
    django.setup()
    from django.db import connection  # noqa: PLC0415 - needs the settings

    from federation.domain.meta import FEDERATION_ID  # noqa: PLC0415
    from federation.services.replication.dedupe import insisting  # noqa: PLC0415
    from jobs.domain.access.caller import Caller  # noqa: PLC0415
    from jobs.domain.envelope import parse_job  # noqa: PLC0415
    from jobs.domain.wire.ids import new_id  # noqa: PLC0415
    from jobs.services.enqueue.enqueue import enqueue  # noqa: PLC0415

    for dies_at in range(1, 100):
        federation_id = new_id()
        print(federation_id, flush=True)  # noqa: T201 - the test reads this line
        if not (child := os.fork()):
            connection.ensure_connection()
            _arm(dies_at)
            meta = {FEDERATION_ID: federation_id}
            enqueue(
                [parse_job({"type": "tests.noop", "args": [], "meta": meta})], insisting(Caller())
            )
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return
    sys.exit("a child needs a hundred steps")


if __name__ == "__main__":
    main()
