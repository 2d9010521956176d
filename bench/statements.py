"""The SQL of the benchmarks, filled in with the one job and the product's own statements."""

import json
import re
from pathlib import Path
from typing import Any

from bench.names import ARGS, CLAIMED, META, NOOP
from jobs.domain.enqueue.draft import attributes
from jobs.domain.envelope import parse_job
from jobs.statements import Statements

FOLDER = Path(__file__).resolve().parent / "sql"
PRODUCT = Statements(FOLDER.parent.parent / "jobs" / "sql")
PLACE = re.compile(r"%\((\w+)\)s")
LEASE_MS = 1_800_000
HEARD_MS = "3000"  # a tenth of the silence, as the server has it


def text(name: str, **values: Any) -> str:
    """Return `sql/<name>.sql` with its places filled."""
    found = (FOLDER / f"{name}.sql").read_text()
    for place, value in {**_job(), **values}.items():
        found = found.replace(f"{{{place}}}", str(value))
    return found


def script(name: str, **values: Any) -> str:
    """Return one statement for `Database.run`, which may hold several."""
    lines = text(name, **values).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("--"))


def claim(count: int) -> str:
    """Return the product's claim of `count` jobs by a client of pgbench: no pool, no hints."""
    given = {
        "queues": f"ARRAY['{CLAIMED}']",
        "limit": str(count),
        "worker_id": "'pgbench-' || :client_id",
        "default_lease_ms": str(LEASE_MS),
        "names_pool": "false",
        "heard_ms": HEARD_MS,
    }
    return PLACE.sub(lambda found: f"({given.get(found[1], 'NULL')})", script_of("claim"))


def complete() -> str:
    """Return the product's acknowledgement, its parameters as variables of pgbench."""
    given = {"acks": ":acks", "watched": "false", "heard_ms": HEARD_MS}
    text = script_of("complete")
    for mark, part in (("ended", "acks"), ("answer", "each_completed")):
        text = text.replace(f"/* {mark} */", script_of(part))
    return PLACE.sub(lambda found: given[found[1]], text)


def script_of(name: str) -> str:
    """Return a statement of the product without its comments."""
    return PRODUCT.text(name)


def _job() -> dict[str, str]:
    draft = parse_job({"type": NOOP, "args": ARGS, "meta": META})
    members = {"args": draft.args, "meta": draft.meta, "attributes": attributes(draft)}
    # pgbench takes a colon for a variable unless a space follows, as it does here
    return {"type": NOOP, **{name: json.dumps(value) for name, value in members.items()}}
