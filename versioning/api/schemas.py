"""Endpoints of the schema registry: admin/schemas in the seed's form, and schemas for SDKs.

Spec: job-versioning 6.1, 11, contract 30.2.
"""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import TYPE as NAME
from jobs.api.schemas import text
from jobs.api.wire.admin import chosen, list_of, listed, plain
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import MAX_PER_PAGE, NUMBERED, Page, admin_page
from jobs.domain.errors import NotFound
from versioning.api import schema_codec as codec
from versioning.domain.schema_version import shown_version
from versioning.models import Schema
from versioning.services import schemas
from versioning.services.routing import shares_by_type

TYPE: dict[str, Any] = {"job_type": text(1)}
NAMED: dict[str, Any] = {
    "name": {**text(1), "description": "A job type, or the URI of a schema, percent-encoded"}
}
VERSION: dict[str, Any] = {"version": text(1)}
LONGEST = 2000  # of a name in a path, which may be a URI
FORCE = ("true", "false")
DELETE_QUERY = {"force": {"type": "string", "enum": [*FORCE, ""]}}


def window_of(request: Request) -> Page:
    """Read the window of a list whose items may be large."""
    asked = admin_page(request)
    return Page(min(asked.limit, MAX_PER_PAGE), asked.offset)


def storable(name: str) -> str:
    """Return a name from a path if a row could have it. Raises NotFound."""
    if "\0" in name or len(name) > LONGEST:
        raise NotFound.of(schemas.KIND, name)
    return name


class SchemaView(OJSView):
    """Base of the schema views. All readers see all schemas, which belong to types, not tenants."""

    def put_one(self, job_type: str, version: str) -> Answer:
        """Register or update a schema."""
        on_conflict = chosen(self.request, "on_conflict", (codec.REPLACE, codec.ERROR))
        wanted = codec.decode_put(self.body(), job_type, version, on_conflict)
        done = schemas.register(wanted, self.caller)
        shown = codec.encode_registered(done, is_latest=schemas.is_latest(done.schema))
        return Answer(shown, status=201 if done.is_new else 200)

    def deleted(self, found: list[Schema], version: str | None) -> Answer:
        """Delete schemas, and answer with their type and version."""
        force = chosen(self.request, "force", FORCE) == "true"
        schemas.delete(found, self.caller, force=force)
        shown = None if version is None else shown_version(found[0].version)
        return Answer({"deleted": True, "type": found[0].type, "version": shown})


class SchemaCollection(SchemaView):
    """List schemas."""

    @operation(
        "listSchemas",
        {200: list_of(codec.FLAT, "schemas")},
        query={**NUMBERED, "q": {**text(), "description": "Part of the type"}},
    )
    def get(self, request: Request) -> Answer:
        """List the latest schema of each type, types by name; at most 100 at once."""
        window = window_of(request)
        rows, total = schemas.page(
            containing=plain(request, "q") or "", limit=window.limit, offset=window.offset
        )
        routed = shares_by_type([row.type for row in rows])
        items = [codec.encode_schema(row, is_latest=True, routed=routed) for row in rows]
        return Answer(listed(items, total, window, "schemas"))


class SchemasOfType(SchemaView):
    """Show or delete all schemas of a type."""

    @operation("getSchemas", {200: codec.OF_TYPE}, path=TYPE, refusals=(404,))
    def get(self, request: Request, job_type: str) -> Answer:
        """Show the latest schema of a type and all its versions, newest first."""
        return Answer(codec.encode_of_type(schemas.versions(storable(job_type))))

    @operation(
        "deleteSchemas",
        {200: codec.DELETED},
        path=TYPE,
        query=DELETE_QUERY,
        refusals=(404, 409),
    )
    def delete(self, request: Request, job_type: str) -> Answer:
        """Delete all schemas of a type; with `force=true` even if live workers declare some."""
        return self.deleted(schemas.versions(storable(job_type)), None)


class SchemaVersions(SchemaView):
    """List the versions of a type."""

    @operation("listSchemaVersions", {200: codec.VERSIONS}, path=TYPE, refusals=(404,))
    def get(self, request: Request, job_type: str) -> Answer:
        """List the versions of a type, newest first."""
        return Answer(codec.encode_versions(schemas.versions(storable(job_type))))


class SchemaDiff(SchemaView):
    """Compare two versions."""

    @operation(
        "diffSchemas",
        {200: codec.DIFFERENCE},
        path=TYPE,
        query={"from": codec.SENT_VERSION, "to": codec.SENT_VERSION},
        refusals=(404,),
    )
    def get(self, request: Request, job_type: str) -> Answer:
        """Compare two versions: the changes, which of them break, and the required bump.

        An absent `to` means the latest version, an absent `from` the version before `to`.
        """
        new = plain(request, "to")
        old = plain(request, "from")
        for name, version in (("from", old), ("to", new)):
            if version is not None:
                codec.require_version(version, name)
        return Answer(codec.encode_difference(schemas.difference(storable(job_type), old, new)))


class SchemaCheck(SchemaView):
    """Check arguments."""

    @operation("checkArgs", {200: codec.CHECKED}, body=codec.VALIDATE, path=TYPE, refusals=(404,))
    def post(self, request: Request, job_type: str) -> Answer:
        """Check arguments by the schema of a version, or of the latest; nothing is enqueued."""
        version, args = codec.decode_args(self.body())
        name = storable(job_type)
        found = schemas.latest_of(name) if version is None else schemas.find(name, version)
        problems = schemas.problems(found, args)
        return Answer({"valid": not problems, "errors": problems})


class SchemaDetail(SchemaView):
    """Show, register or delete the schema of a version."""

    @operation("getSchema", {200: codec.FLAT}, path={**TYPE, **VERSION}, refusals=(404,))
    def get(self, request: Request, job_type: str, version: str) -> Answer:
        """Show the schema of a version."""
        found = schemas.find(storable(job_type), version)
        latest, routed = schemas.is_latest(found), shares_by_type([job_type])
        return Answer(codec.encode_schema(found, is_latest=latest, routed=routed))

    @operation(
        "putSchema",
        {201: codec.PUT_ANSWER, 200: codec.PUT_ANSWER},
        body=codec.PUT,
        path={"job_type": NAME, "version": codec.SENT_VERSION},
        query={"on_conflict": {"type": "string", "enum": [codec.REPLACE, codec.ERROR, ""]}},
        refusals=(409,),
    )
    def put(self, request: Request, job_type: str, version: str) -> Answer:
        """Register the schema of a version, or update it.

        A document in `args_schema` replaces a different document and is strict. In `schema`, a
        different document is a conflict, and problems are warnings. `on_conflict` and
        `validation_mode` override this.
        """
        return self.put_one(job_type, version)

    @operation(
        "deleteSchema",
        {200: codec.DELETED},
        path={**TYPE, **VERSION},
        query=DELETE_QUERY,
        refusals=(404, 409),
    )
    def delete(self, request: Request, job_type: str, version: str) -> Answer:
        """Delete the schema of a version; with `force=true` even if live workers declare it."""
        return self.deleted([schemas.find(storable(job_type), version)], version)


# --- as SDKs have it ------------------------------------------------------------------------------


class EntryCollection(SchemaView):
    """List and register schemas."""

    @operation("listSchemaEntries", {200: list_of(codec.ENTRY, "schemas")}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List the latest schema of each type, types by name; at most 100 at once."""
        window = window_of(request)
        rows, total = schemas.page(containing="", limit=window.limit, offset=window.offset)
        items = [codec.encode_entry(row) for row in rows]
        return Answer(listed(items, total, window, "schemas"))

    @operation("registerSchemaEntry", {201: codec.ENTRY_ANSWER}, body=codec.POST, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Register the schema of a new version, with a URI if given."""
        done = schemas.register(codec.decode_post(self.body()), self.caller)
        return Answer(codec.encode_wrapped(done.schema), status=201)


class NamedEntry(SchemaView):
    """Show or delete the schema of a type or of a URI."""

    @operation("getSchemaEntry", {200: codec.ENTRY_ANSWER}, path=NAMED, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show the latest schema of a type, or the schema of a URI."""
        storable(name)
        found = schemas.find_uri(name) if ":" in name else schemas.latest_of(name)
        return Answer(codec.encode_wrapped(found))

    @operation(
        "deleteSchemaEntry",
        {200: codec.DELETED},
        path=NAMED,
        query=DELETE_QUERY,
        refusals=(404, 409),
    )
    def delete(self, request: Request, name: str) -> Answer:
        """Delete all schemas of a type, or the schema of a URI."""
        storable(name)
        if ":" in name:
            found = schemas.find_uri(name)
            return self.deleted([found], found.version)
        return self.deleted(schemas.versions(name), None)


class EntryVersions(SchemaView):
    """List the versions of a type."""

    @operation("listSchemaEntryVersions", {200: codec.VERSIONS}, path=TYPE, refusals=(404,))
    def get(self, request: Request, job_type: str) -> Answer:
        """List the versions of a type, newest first."""
        return Answer(codec.encode_versions(schemas.versions(storable(job_type))))


class EntryDetail(SchemaView):
    """Show or delete the schema of a version."""

    SHORT = "/ojs/v1/schemas/{job_type}/{version}"

    @operation(
        "getSchemaEntryVersion",
        {200: codec.ENTRY_ANSWER},
        path={**TYPE, **VERSION},
        refusals=(404,),
        aliases={SHORT: "getSchemaEntryVersionShort"},
    )
    def get(self, request: Request, job_type: str, version: str) -> Answer:
        """Show the schema of a version."""
        return Answer(codec.encode_wrapped(schemas.find(storable(job_type), version)))

    @operation(
        "deleteSchemaEntryVersion",
        {200: codec.DELETED},
        path={**TYPE, **VERSION},
        query=DELETE_QUERY,
        refusals=(404, 409),
        aliases={SHORT: "deleteSchemaEntryVersionShort"},
    )
    def delete(self, request: Request, job_type: str, version: str) -> Answer:
        """Delete the schema of a version."""
        return self.deleted([schemas.find(storable(job_type), version)], version)
