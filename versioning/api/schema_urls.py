"""Routes of the schema registry. Spec: contract 30.2."""

from django.urls import path, re_path

from versioning.api.schemas import (
    EntryCollection,
    EntryDetail,
    EntryVersions,
    NamedEntry,
    SchemaCheck,
    SchemaCollection,
    SchemaDetail,
    SchemaDiff,
    SchemasOfType,
    SchemaVersions,
)

ADMIN, ENTRIES = "ojs/v1/admin/schemas", "ojs/v1/schemas"
TYPE, ENTRY = f"{ADMIN}/<str:job_type>", f"{ENTRIES}/<str:job_type>"

urlpatterns = [
    path(ADMIN, SchemaCollection.as_view(), name="ojs-schemas"),
    path(TYPE, SchemasOfType.as_view(), name="ojs-schemas-of-type"),
    # no version has one of these names
    path(f"{TYPE}/versions", SchemaVersions.as_view(), name="ojs-schema-versions"),
    path(f"{TYPE}/diff", SchemaDiff.as_view(), name="ojs-schema-diff"),
    path(f"{TYPE}/validate", SchemaCheck.as_view(), name="ojs-schema-check"),
    path(f"{TYPE}/<str:version>", SchemaDetail.as_view(), name="ojs-schema"),
    path(ENTRIES, EntryCollection.as_view(), name="ojs-schema-entries"),
    # A URI arrives decoded, with its slashes. Its scheme ends with a colon, which no type contains;
    # the rest of the path belongs to the URI.
    re_path(
        rf"^{ENTRIES}/(?P<name>[^/]*:[\s\S]*)$",
        NamedEntry.as_view(schema=None),
        name="ojs-schema-entry-uri",
    ),
    path(f"{ENTRIES}/<str:name>", NamedEntry.as_view(), name="ojs-schema-entry"),
    path(f"{ENTRY}/versions", EntryVersions.as_view(), name="ojs-schema-entry-versions"),
    path(f"{ENTRY}/versions/<str:version>", EntryDetail.as_view(), name="ojs-schema-entry-version"),
    path(f"{ENTRY}/<str:version>", EntryDetail.as_view(), name="ojs-schema-entry-short"),
]
