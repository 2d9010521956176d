#!/bin/sh
# Puts what `make drill-failover` needs into a folder: bench/drills/tools.sh FOLDER PIP
# Patroni by pip; etcd, HAProxy and PgBouncer by apt if the system lacks them, unpacked without
# installing. A program that it cannot get is missing afterwards: the drill names it.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
lock=$here/patroni.lock
pip=$2
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# Patroni runs under the account of PostgreSQL, which may not reach another python
python=/usr/bin/python3
[ -x "$python" ] || python=$(dirname "$pip")/python
if ! cmp -s "$lock" "$folder/installed.lock"; then
    rm -rf "$folder/packages" "$folder/installed.lock"
    "$pip" --python "$python" install --quiet --disable-pip-version-check --no-deps \
        --target "$folder/packages" -r "$lock"
    cp "$lock" "$folder/installed.lock"
fi
ln -sf "$python" "$folder/python"

PATH=$PATH:/usr/sbin:/sbin:$folder/root/usr/bin:$folder/root/usr/sbin
packages=""
[ -n "$(command -v etcd)" ] || packages="$packages etcd-server"
[ -n "$(command -v haproxy)" ] || packages="$packages haproxy"
[ -n "$(command -v pgbouncer)" ] || packages="$packages pgbouncer"
# shellcheck disable=SC2086 # one word for each package
[ -z "$packages" ] || "$here/unpack.sh" "$folder/root" $packages || true
