#!/bin/sh
# Creates the secret files of compose.yaml in deploy/compose/secrets; keeps files that exist.
set -eu
cd "$(dirname "$0")"
umask 022
mkdir -p secrets
chmod 700 secrets # the containers mount single files, which their users must be able to read

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { # name, value
    [ -e "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
}

for name in postgres_password ojs_password secret_key encryption_keys admin_password grafana_password; do
    keep "$name" "$(random)"
done
password=$(cat secrets/ojs_password)
keep direct_database_url "postgresql://ojs:$password@postgres:5432/ojs"
keep database_url "postgresql://ojs:$password@pgbouncer:6432/ojs"
keep pgbouncer_users "\"ojs\" \"$password\""
if [ ! -e secrets/tls.key ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout secrets/tls.key -out secrets/tls.crt 2>/dev/null
    chmod 644 secrets/tls.key
fi
