"""python -m bench.federation: three real regions; see docs/federation.md."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.federation import replication, routing
from bench.federation.convergence import converge
from bench.federation.rig import Rig, running
from bench.federation.survival import Found, survive

PARTS = ("routing", "replication", "survival")


def main() -> int:
    """Run the chosen parts; 1 if a job was lost, doubled or misplaced."""
    parser = argparse.ArgumentParser(prog="python -m bench.federation", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--jobs", type=int, default=10_000, help="enqueued through a failure")
    parser.add_argument("--rate", type=int, default=1_000, help="jobs/s while lag is measured")
    parser.add_argument("--seconds", type=int, default=20, help="of that")
    parser.add_argument("--backlog", type=int, default=20_000, help="jobs to catch up with")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ojs-federation-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        with running(folder) as rig:
            return _run(rig, options, options.parts.split(","))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(rig: Rig, options: argparse.Namespace, parts: list[str]) -> int:
    code = 0
    if "routing" in parts:
        cost = routing.measure(rig)
        print(
            f"enqueue: plain {cost.plain_us:.0f} us, with a federation id {cost.noted_us:.0f} us,"
            f" by the client {cost.routed_us:.0f} us; of it routing {cost.decision_us:.0f} us"
            f" ({cost.ratio:.3f} of a plain one)", flush=True,
        )  # fmt: skip
    if "replication" in parts:
        late = replication.lag(rig, options.rate, options.seconds)
        print(
            f"lag at {late.rate:.0f} jobs/s (asked for {late.asked:.0f}): median"
            f" {late.median_ms:.0f} ms, worst {late.worst_ms:.0f} ms", flush=True,
        )  # fmt: skip
        rate = replication.throughput(rig, options.backlog)
        print(f"replication of a backlog: {rate:.0f} jobs/s to each of two peers", flush=True)
    if "survival" in parts:
        began = time.monotonic()
        found = survive(rig, options.jobs)
        print(f"{options.jobs} jobs through a death: {time.monotonic() - began:.0f} s")
        code = _report(found)
        print(f"agreement row by row {converge(rig, 600):.1f} s later", flush=True)
    return code


def _report(found: Found) -> int:
    print(
        f"  promised {dict(found.promised)}, refused: {found.refused_pins} pinned,"
        f" {found.refused} free\n"
        f"  lost {len(found.lost)}, doubled in a region {len(found.doubled)},"
        f" misplaced {len(found.misplaced)}, in two regions {len(found.in_two)}"
        f" (marked ambiguous) and {len(found.unexplained)} (not)", flush=True,
    )  # fmt: skip
    return 1 if found.lost or found.doubled or found.misplaced or found.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
