#!/bin/sh
# Puts the tools of `make deploy-check` into a folder: tests/deploy/tools.sh FOLDER
# Python tools by pip; promtool, nginx and Caddy by apt, unpacked without installing: no service
# starts. Without apt, or not as root, it leaves out the latter.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
[ -x bin/pip ] || ${PYTHON:-python3} -m venv .
bin/pip install --quiet --disable-pip-version-check --no-compile -r "$here/requirements.lock"

[ -n "$(command -v apt-get)" ] && [ "$(id -u)" = 0 ] || exit 0
[ -e root/usr/bin/promtool ] && [ -e root/usr/bin/caddy ] && [ -e root/usr/sbin/nginx ] && exit 0
fetch() { (mkdir -p debs && cd debs && apt-get download -qq -o APT::Sandbox::User=root prometheus nginx caddy); }
fetch 2>/dev/null || { apt-get update -qq && fetch; }
for package in debs/*.deb; do dpkg -x "$package" root; done
rm -r debs root/usr/bin/prometheus
