"""psycopg as the engine sees it: with connections whose statements end."""

from psycopg import *  # noqa: F403 - the errors of a DB-API module are looked up by name

from ojs_project.database.guard import Connection

connect = Connection.connect
