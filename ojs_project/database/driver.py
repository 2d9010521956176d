"""psycopg with connections whose statements have time bounds, as the engine imports it."""

from psycopg import *  # noqa: F403 - the errors of a DB-API module are looked up by name

from ojs_project.database import primary

connect = primary.connect  # type: ignore[assignment]  # by names only
