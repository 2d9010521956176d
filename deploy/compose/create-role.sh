#!/bin/sh
# Runs once, when the PostgreSQL container creates its cluster: role, database and their bounds.
set -eu
password=$(cat /run/secrets/ojs_password)
psql -v ON_ERROR_STOP=1 -v password="$password" --username "$POSTGRES_USER" <<'SQL'
CREATE ROLE ojs LOGIN PASSWORD :'password';
CREATE DATABASE ojs OWNER ojs;
-- a pooler passes on no session settings: docs/operations.md#poolers
ALTER ROLE ojs SET statement_timeout = '6s';
ALTER ROLE ojs SET lock_timeout = '5s';
ALTER ROLE ojs SET idle_in_transaction_session_timeout = '60s';
GRANT pg_monitor TO ojs;
SQL
