"""All operations of the OpenAPI document, sent by callers without access to another tenant.

The walk takes paths, methods and bodies from the document, so it includes a new operation as soon
as the document has it. Each caller names the things of tenant `zebra`, whose names and values all
contain that mark. Then it sends hostile values. No thing of that tenant may change, no answer may
contain the mark, and no request may cause an error of the server.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access import keys
from jobs.domain.access.permits import Tenants
from jobs.models import ApiKey, Staff
from jobs.permits import required, table
from jobs.services.access import api_keys
from jobs.services.access.api_keys import NewKey, create
from tests.effort import of_each
from tests.jobs.api.refusals import BODIES, DOCUMENT, ERROR, STREAMS
from tests.jobs.api.routes import views
from tests.tenancy.served import asks, things
from tests.tenancy.served.things import MARK, Names

MINE = "walker"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
ROLES = ("ojs_viewer", "ojs_operator", "ojs_admin")
# malicious values for paths, queries and members
HOSTILE = (
    "\0", "..", "../../etc/passwd", "%s%n{0}", "\u202e", "'; DROP TABLE ojs_job; --", "😀", "-1",
    "\r\nX-Injected: 1", "<script>alert(1)</script>", "a" * 3000, "${jndi:ldap://localhost}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the document; `body` is a valid body, or None if it takes no body."""

    id: str
    method: str
    path: str
    body: Any
    query: tuple[str, ...]


def _operations() -> list[Operation]:
    return [
        Operation(
            built["operationId"],
            method.upper(),
            path,
            _body(built),
            tuple(one["name"] for one in built.get("parameters", ()) if one.get("in") == "query"),
        )
        for path, methods in DOCUMENT["paths"].items()
        for method, built in methods.items()
    ]


def _body(built: Mapping[str, Any]) -> Any:
    if "requestBody" not in built:
        return None
    known = BODIES.get(built["operationId"])
    schema = built["requestBody"]["content"][OJS_TYPE]["schema"]
    return _sample(schema) if known is None else known


PLAIN: Mapping[str, Any] = {"string": MARK, "integer": 1, "number": 1, "boolean": True}


def _sample(schema: Mapping[str, Any]) -> Any:
    """Return a value of a schema with its required members, for operations without a known body."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    named = [schema[name] for name in ("const", "default", "example") if name in schema]
    named += schema.get("enum", ())
    choices = [one for name in ("allOf", "anyOf", "oneOf") for one in schema.get(name, ())]
    if named or choices:
        return named[0] if named else _sample(choices[0])
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return [_sample(schema["items"])] if schema.get("items") else []
    members = schema.get("properties", {})
    made = {name: _sample(members.get(name, {})) for name in schema.get("required", ())}
    return PLAIN.get(kind, made)


OPERATIONS = _operations()


@dataclass(frozen=True, slots=True)
class Caller:
    """A client with its credentials; `scopes` is None for a session, whose scopes are unlimited."""

    name: str
    client: Client
    headers: Mapping[str, str]
    scopes: frozenset[str] | None

    def ask(self, method: str, path: str, body: Any) -> Any:
        """Send a request."""
        content = b"" if body is None else orjson.dumps(body)
        return self.client.generic(
            method, path, content, content_type=OJS_TYPE, headers={**self.headers}
        )


@pytest.fixture
def theirs(store: None, settings: Any) -> Iterator[list[Names]]:
    """Create the things of the other tenant, then require credentials."""
    made = things.make()
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()
    yield made
    ApiKey.objects.all().delete()
    User.objects.all().delete()
    api_keys.cache.clear()


def _key(name: str, *scopes: str, header: str | None = None, **facts: Any) -> Caller:
    _, text = create(NewKey(name, scopes, **facts))
    headers = {"Authorization": f"Bearer {text}"} | ({header: MINE} if header else {})
    return Caller(name, Client(), headers, frozenset(keys.expand(list(scopes))))


def _session(group: str) -> Caller:
    user = User.objects.create(username=f"{group} of {MINE}", is_staff=True)
    user.groups.set([Group.objects.get(name=group)])
    Staff.objects.create(user=user, tenants=[MINE])
    client = Client()
    client.force_login(user)
    return Caller(group, client, OWN_PAGE, None)


def _strangers() -> Iterator[Caller]:
    nobody: frozenset[str] = frozenset()
    yield Caller("no credentials", Client(), {}, nobody)
    made_up = {"Authorization": f"Bearer ojs_zzzzzzzz_{'z' * 43}"}
    yield Caller("a key that nobody made", Client(), made_up, nobody)
    yield Caller("an odd key", Client(), {"X-API-Key": "ojs_\u00e9_'"}, nobody)
    yield Caller("an odd session", Client(), {"Cookie": "sessionid=zebra"}, nobody)


def _bound() -> Iterator[Caller]:
    """Yield callers of one tenant: by key, by header and by account."""
    for scope in sorted(keys.SCOPES):
        yield _key(f"bound {scope}", scope, tenant=MINE)
    yield _key("bound admin", "admin", tenant=MINE)
    for header in ("X-OJS-Tenant", "X-OJS-Tenant-Id"):
        yield _key(f"narrowed by {header}", "admin", header=header)
    for group in ROLES:
        yield _session(group)


def _limited() -> Iterator[Caller]:
    """Yield keys limited to their own queues or types, without an administrative scope."""
    scopes = ("ojs:data:write", "ojs:data:read")
    queues = (f"{MINE}-queue",)
    yield _key("limited to queues", *scopes, queues_enqueue=queues, queues_fetch=queues)
    yield _key("limited to types", *scopes, job_types=(f"{MINE}.*",))


def _filled(path: str, names: Mapping[str, str]) -> str:
    """Put the names of the other tenant's things into a path."""
    named = {**names, "name": names["cron"] if "/cron" in path else names["queue"]}
    named |= {"job_type": names["type"], "version": "1", "region_id": "eu"}
    return re.sub(r"{(\w+)}", lambda found: quote(named.get(found[1], MARK), safe=""), path)


def _aimed(body: Any, names: Names) -> Any:
    """Return a body whose names are replaced by names of the other tenant's things."""
    by_member = {
        "job_id": names["job_id"], "id": names["job_id"], "job_ids": [names["job_id"]],
        "queue": names["queue"], "queues": [names["queue"]], "worker_id": names["worker_id"],
        "tenant_id": MARK, "tenant": MARK, "name": names["queue"],
    }  # fmt: skip
    if isinstance(body, dict):
        return {name: by_member.get(name, _aimed(value, names)) for name, value in body.items()}
    if isinstance(body, list):
        return [_aimed(one, names) for one in body]
    return body


def _text_of(answer: Any, asked: list[str]) -> str:
    """Return the text of an answer without the names in the request."""
    text = "" if answer.streaming else answer.content.decode(errors="replace")
    for name in sorted(asked, key=len, reverse=True):
        text = text.replace(name, "<asked>")
    return text


def _broken(answer: Any, operation: Operation) -> str | None:
    """Return the fault of an answer that is wrong for any caller, or None."""
    if answer.status_code >= 500 and operation.id not in STREAMS:
        is_probe = operation.path.rpartition("/")[2] in {"health", "ready", "readyz"}
        return None if is_probe else f"fails with {answer.status_code}"
    if answer.status_code >= 400 and answer["Content-Type"] == OJS_TYPE:
        body = answer.json()
        if operation.path.rpartition("/")[2] not in {"health", "ready", "readyz"}:
            ERROR.validate(body)
    return None


def _walk(caller: Caller, theirs: list[Names], *, tells: bool) -> Iterator[str]:
    """Send all operations; yield all faults.

    `tells`: the caller may read the other tenant.
    """
    names = theirs[3]  # its active job, which allows more operations than jobs in other states
    asked = [value for one in theirs for value in one.values()] + [MARK]
    for operation in OPERATIONS:
        path = _filled(operation.path, names)
        answer = caller.ask(operation.method, path, _aimed(operation.body, names))
        where = f"{caller.name}: {operation.method} {operation.path} ({operation.id})"
        if problem := _broken(answer, operation):
            yield f"{where} {problem}: {answer.content[:300]!r}"
        if caller.scopes is not None and not _may(caller.scopes, operation):
            if answer.status_code not in {401, 403}:
                yield f"{where} answers {answer.status_code} without the scope"
            if _secrets(answer, theirs):
                yield f"{where} tells of {MARK} without the scope"
        elif not tells and _is_foreign(answer, operation, asked):
            yield f"{where} tells of {MARK}: {answer.content[:300]!r}"


def _may(scopes: frozenset[str], operation: Operation) -> bool:
    wanted = required(_plain(operation.id))
    return wanted.scope is None or wanted.scope in scopes


def _plain(operation_id: str) -> str:
    """Return the operation of the table for an operation or an alias."""
    return operation_id if operation_id in table().operations else ALIASES[operation_id]


def _aliases() -> dict[str, str]:
    """Return the operations of the table by the ids of their aliases."""
    return {
        alias: wanted.operation
        for _, view in views()
        for method in view().allowed_methods
        if (described := getattr(getattr(view, method.lower(), None), "operation", None))
        if (wanted := view.required(method))
        for alias in described.aliases.values()
    }


ALIASES = _aliases()


def _secrets(answer: Any, theirs: list[Names]) -> bool:
    return "secret" in _text_of(answer, [value for one in theirs for value in one.values()]).lower()


def _is_foreign(answer: Any, operation: Operation, asked: list[str]) -> bool:
    """Return whether an answer reveals more of the other tenant than the names in the request."""
    if f"{operation.method} {operation.path}" in asks.COMMON or answer.status_code >= 400:
        return MARK in _text_of(answer, asked)
    if _is_of_none(operation):
        return False
    return MARK in _text_of(answer, asked) or (answer.status_code == 200 and _echoes(answer, asked))


def _is_of_none(operation: Operation) -> bool:
    """Return whether the answer of an operation concerns no tenant, by the table of permits."""
    return required(_plain(operation.id)).tenants is Tenants.NONE


def _echoes(answer: Any, asked: list[str]) -> bool:
    """Return whether an answer shows a job of the other tenant."""
    if answer.streaming or answer["Content-Type"] != OJS_TYPE:
        return False
    text = answer.content.decode(errors="replace")
    return f'"secret":"{MARK}"' in text or f'"args":["{MARK}"' in text


def test_every_operation_is_in_the_walk() -> None:
    parts = {name for name in table().operations if "?" in name}

    assert {_plain(one.id) for one in OPERATIONS} == set(table().operations) - parts


def test_a_stranger_gets_nothing(theirs: list[Names]) -> None:
    before = things.snapshot(theirs)

    found = [one for caller in _strangers() for one in _walk(caller, theirs, tells=False)]

    assert not found, "\n".join(found)
    assert things.snapshot(theirs) == before


def test_a_caller_of_one_tenant_reaches_nothing_of_another(theirs: list[Names]) -> None:
    before = things.snapshot(theirs)
    found: list[str] = []
    for caller in _bound():
        found += _walk(caller, theirs, tells=False)
        after = things.snapshot(theirs)
        found += [f"{caller.name} changes {name}" for name in after if after[name] != before[name]]
        before = after

    assert not found, "\n".join(found)


def test_a_limited_key_changes_no_job_of_others(theirs: list[Names]) -> None:
    tables = ("ojs_job", "ojs_ready", "ojs_lease", "ojs_later", "ojs_finished", "ojs_cron_entry")
    found: list[str] = []
    for caller in _limited():
        before = things.snapshot(theirs)
        found += _walk(caller, theirs, tells=True)
        after = things.snapshot(theirs)
        found += [f"{caller.name} changes {name}" for name in tables if after[name] != before[name]]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", of_each(range(len(HOSTILE))))
def test_hostile_values_fail_no_operation(theirs: list[Names], number: int) -> None:
    value = HOSTILE[number]
    before = things.snapshot(theirs)
    caller = _key("bound admin", "admin", tenant=MINE)
    found: list[str] = []
    for operation in OPERATIONS:
        path = re.sub(r"{\w+}", quote(value, safe=""), operation.path)
        query = "&".join(f"{name}={quote(value, safe='')}" for name in operation.query)
        for target, body in (
            (path, operation.body),
            (f"{_filled(operation.path, things.nothings())}?{query}", operation.body),
            (_filled(operation.path, things.nothings()), _poisoned(operation.body, value)),
        ):
            answer = caller.ask(operation.method, target, body)
            if problem := _broken(answer, operation):
                found.append(
                    f"{operation.method} {target[:200]} {problem}: {answer.content[:200]!r}"
                )
            if answer.has_header("X-Injected"):
                found.append(f"{operation.method} {target[:200]} takes a header from a value")

    assert not found, "\n".join(found)
    assert things.snapshot(theirs) == before


def _poisoned(body: Any, value: str) -> Any:
    """Return a body with the value in place of each text, and as a member of each object."""
    if isinstance(body, dict):
        return {name: _poisoned(one, value) for name, one in body.items()} | {value: value}
    if isinstance(body, list):
        return [_poisoned(one, value) for one in body]
    return value if isinstance(body, str) else body
