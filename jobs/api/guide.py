"""The order and the words of the API description: introduction, sections, examples, cures."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from jobs.api.examples import PATH, Example
from jobs.api.schemas import Schema

INTRODUCTION: Final = """
This server stores background jobs in PostgreSQL and hands them to workers over HTTP, by the
[Open Job Spec](https://openjobspec.org). A **producer** enqueues jobs. A **worker** fetches jobs,
runs them, and acknowledges each (`ack`) or reports its failure (`nack`). Operators watch and change
everything with the operations below, or in the console.

### Keys
Send an API key as `Authorization: Bearer ojs_…` or as `X-API-Key`. An administrator creates keys in
the console under *API keys*, or with `manage.py createapikey NAME`. Each operation below names the
scope that its key needs. A server that was started with authentication off needs no key. On this
page, a login to the console also suffices.

### First calls
The commands on this page use `OJS_URL`, the address of this server, and `OJS_API_KEY`.

```sh
# enqueue a job
curl -X POST "$OJS_URL/ojs/v1/jobs" -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $OJS_API_KEY" \\
  -d '{"type": "mail.send", "args": ["ada@example.org"], "options": {"queue": "mail"}}'
# as a worker: fetch it, and acknowledge it by the id in the response
curl -X POST "$OJS_URL/ojs/v1/workers/fetch" -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $OJS_API_KEY" -d '{"queues": ["mail"], "worker_id": "worker-1"}'
curl -X POST "$OJS_URL/ojs/v1/workers/ack" -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $OJS_API_KEY" -d '{"job_id": "…", "result": {"sent": true}}'
# look at it
curl "$OJS_URL/ojs/v1/jobs/…" -H "Authorization: Bearer $OJS_API_KEY"
```

### Requests and responses
Bodies are JSON. Every response has the headers `OJS-Version` and `X-Request-Id`. Every status from
400 has the body `{"error": {"code", "message", "hint", "retryable", "details", "request_id"}}`.
Decide by `code`; `hint` says what to do. Send a `retryable` request again after `Retry-After`
seconds. Existing paths answer other methods with 405 and `Allow`.
"""


class Section(NamedTuple):
    """A section of the description, with the modules of its views."""

    name: str
    description: str
    modules: tuple[str, ...]


# in the order in which a reader needs them
SECTIONS: Final = (
    Section("Jobs", "Enqueue, read, change, cancel, follow jobs. Start with `POST /ojs/v1/jobs`.",
            ("jobs", "bulk", "progress", "checkpoints", "signals", "steps",
             "unique", "explain", "past",
             "admin_bulk", "operations")),
    Section("Workers", "Fetch, acknowledge and fail jobs; heartbeats, registration, directives.",
            ("workers",)),
    Section("Queues", "Create, configure, pause and purge queues; rate limits.",
            ("queues", "queue_config", "queue_purge", "rate_limits")),
    Section("Dead letter", "Jobs that used up their attempts: list, retry, delete, replay rules.",
            ("dead_letter",)),
    Section("Workflows", "Chains, groups, batches and graphs of jobs.", ("workflows",)),
    Section("Schedules", "Jobs by cron expression. `/crons` is an alias of `/cron`.", ("cron",)),
    Section("Events", "The event record, by polling and as server-sent events.",
            ("events", "streams", "live")),
    Section("Webhooks", "Events by HTTP to your own URLs.", ("subscriptions", "deliveries")),
    Section("Tenants", "Customers with limits and weights of their own.", ("tenants",)),
    Section("Pools and fairness", "Pools of workers, and the shares of queues and tenants.",
            ("pools",)),
    Section("Versions", "Versions of job types: routing rules, canaries, rollbacks.",
            ("routing", "versions", "touched")),
    Section("Schemas", "Schemas of the arguments of job types.", ("schemas",)),
    Section("Federation", "Several regions: routing, health, replication, failover.",
            ("router", "regions", "replication", "readouts")),
    Section("Attention", "What needs an operator, the thresholds of the rules, runbooks.",
            ("findings", "thresholds", "runbooks")),
    Section("Administration", "Statistics, settings, maintenance, audit log.",
            ("stats", "system", "middleware", "history")),
    Section("About the server", "The manifest, this description, and metrics.",
            ("manifest", "docs", "metrics")),
    Section("Probes", "Liveness and readiness for load balancers and orchestrators.", ("health",)),
)  # fmt: skip
_BY_MODULE: Final = {module: one.name for one in SECTIONS for module in one.modules}
_ORDER: Final = {one.name: n for n, one in enumerate(SECTIONS)}
_FIRST: Final = ("createJob", "getJob", "fetchJobs", "ackJob", "nackJob", "createQueue")
_BODIES: Final = ("post", "put", "patch", "get", "delete")  # methods of one path, in order


def section(module: str) -> str:
    """Return the section of the operations of a module of views, by its dotted path."""
    name = module.rpartition(".")[2]
    return _BY_MODULE.get(name, name.replace("_", " ").capitalize())


def tags(paths: Mapping[str, Mapping[str, Schema]]) -> list[Schema]:
    """Return the sections that have operations, in order, with their descriptions."""
    used = {one["tags"][0] for item in paths.values() for one in item.values()}
    known = [
        {"name": one.name, "description": one.description} for one in SECTIONS if one.name in used
    ]
    return known + [{"name": name} for name in sorted(used - _ORDER.keys())]


def ordered(paths: Mapping[str, Mapping[str, Schema]]) -> dict[str, dict[str, Schema]]:
    """Sort paths by section; within it, paths of clients come before those of administrators."""
    by_method = {
        path: {method: item[method] for method in _BODIES if method in item}
        for path, item in paths.items()
    }
    return dict(sorted(by_method.items(), key=lambda one: _place(*one)))


def _place(path: str, item: Mapping[str, Schema]) -> tuple[Any, ...]:
    ids = {one["operationId"] for one in item.values()}
    first = min((_FIRST.index(one) for one in ids if one in _FIRST), default=len(_FIRST))
    name = next(iter(item.values()))["tags"][0]
    is_alias = all(one.endswith(("Alias", "Short")) for one in ids)
    return _ORDER.get(name, len(_ORDER)), is_alias, "/admin/" in path, first


def example_of(module: str, ids: Sequence[str]) -> Example | None:
    """Return the example of an operation by the first of its ids that has one."""
    app = module.partition(".")[0]
    name = f"{app}.api.examples"
    if find_spec(name) is None:
        return None
    examples: Mapping[str, Example] = import_module(name).EXAMPLES
    return next((examples[one] for one in ids if one in examples), None)


def path_of(path: str, example: Example) -> str:
    """Return the path and the query of an example."""
    for name, value in {**PATH, **example.path}.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=":"))
    return path + (f"?{urlencode(example.query)}" if example.query else "")


def command(method: str, path: str, example: Example, *, needs_key: bool) -> str:
    """Return the example as a curl command."""
    parts = [f"curl -X {method.upper()}" if method.upper() != "GET" else "curl"]
    parts[0] += f" '$OJS_URL{path_of(path, example)}'".replace("'", '"')
    if needs_key:
        parts.append('-H "Authorization: Bearer $OJS_API_KEY"')
    if example.body is not None:
        body = json.dumps(example.body, ensure_ascii=False).replace("'", "'\\''")
        parts += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
    return " \\\n  ".join(parts)
