"""Run the statements of `sql/`: the only place of this app with a cursor."""

from pathlib import Path
from typing import Any

import orjson

from attention.domain.rule import Hit
from jobs.statements import Statements

rows = Statements(Path(__file__).resolve().parent.parent / "sql").rows


def hits(found: list[Any]) -> list[Hit]:
    """Read the rows of a rule's statement."""
    return [
        Hit(subject, tenant, since, int(jobs), tenants, orjson.loads(facts))
        for subject, tenant, since, jobs, tenants, facts in found
    ]
