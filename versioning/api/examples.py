"""Example requests of versions, routing rules and schemas; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Any, Final

from jobs.api.examples import Example

TYPE: Final = {"type": "invoice.render"}
SCHEMAS: Final = {"job_type": "invoice.render"}
SCHEMA: Final = {"job_type": "invoice.render", "version": "1.0"}
DOCUMENT: Final[dict[str, Any]] = {
    "type": "array", "prefixItems": [{"type": "object", "required": ["amount"]}],
}  # fmt: skip
RULES: Final[dict[str, Any]] = {
    "rules": [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}],
    "plan": {"steps": [10, 50, 100], "bake_time": "PT30M"},
    "auto_rollback": {"error_rate_threshold": 0.2, "evaluation_window": "PT30M"},
}
EXAMPLES: Final[Mapping[str, Example]] = {
    "getTypeVersions": Example(path=TYPE),
    "listTouchedJobs": Example(path=TYPE, query={"version": "2.0", "ended": "failed"}),
    "getRouting": Example(path=TYPE),
    "putRouting": Example(RULES, path=TYPE),
    "deleteRouting": Example(path=TYPE),
    "pauseRouting": Example({}, path=TYPE),
    "promoteRouting": Example({}, path=TYPE),
    "resumeRouting": Example({}, path=TYPE),
    "rollBackRouting": Example({}, path=TYPE),
    "listSchemas": Example(query={"q": "invoice"}),
    "getSchemas": Example(path=SCHEMAS),
    "deleteSchemas": Example(path=SCHEMAS),
    "listSchemaVersions": Example(path=SCHEMAS),
    "diffSchemas": Example(path=SCHEMAS, query={"from": "1.0", "to": "1.1"}),
    "checkArgs": Example({"version": "1.0", "args": [{"amount": 4200}]}, path=SCHEMAS),
    "getSchema": Example(path=SCHEMA),
    "putSchema": Example({"args_schema": DOCUMENT}, path={**SCHEMAS, "version": "1.2"}),
    "deleteSchema": Example(path=SCHEMA),
    "registerSchemaEntry": Example(
        {"job_type": "invoice.render", "version": "1.2", "schema": DOCUMENT}
    ),
    "getSchemaEntry": Example(path={"name": "invoice.render"}),
    "deleteSchemaEntry": Example(path={"name": "invoice.render"}),
    "listSchemaEntryVersions": Example(path=SCHEMAS),
    "getSchemaEntryVersion": Example(path=SCHEMA),
    "deleteSchemaEntryVersion": Example(path=SCHEMA),
    "getSchemaEntryVersionShort": Example(path=SCHEMA),
    "deleteSchemaEntryVersionShort": Example(path=SCHEMA),
}
