"""Which functions are installed, by the hash of their source, and of which release the tables are."""

from django.db import migrations

TABLES = """
CREATE TABLE ojs_function (
    name text COLLATE "C" PRIMARY KEY,
    hash text NOT NULL  -- SHA-256 of the source
);
CREATE TABLE ojs_release (
    id smallint PRIMARY KEY CONSTRAINT ojs_release_one_row CHECK (id = 1),
    version text NOT NULL,
    serves text NOT NULL  -- the oldest release whose processes may run on these tables
);
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0003_access")]
    operations = [
        migrations.RunSQL(TABLES, reverse_sql="DROP TABLE ojs_function; DROP TABLE ojs_release"),
    ]
