#!/bin/sh
# Unpacks packages of the system into a folder, without installing them: unpack.sh FOLDER PACKAGE…
# No service starts and no account is made. The folder gets the libraries, too, that they need and
# the system lacks. Needs apt-get; only root can renew its lists. Status 1: nothing was unpacked.
set -eu
umask 022

folder=$1
shift
[ -n "$(command -v apt-get)" ] || { echo "there is no apt-get" >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/debs.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

missing() { # the packages and their libraries, but not what only an installation needs
    apt-get --simulate --no-install-recommends install "$@" 2>"$work/problem" |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -Ev '^libjs-|-perl$|^libperl' |
        grep -E "^lib|^($(echo "$*" | tr ' ' '|'))\$"
}
fetch() {
    names=$(missing "$@") || return 1
    # shellcheck disable=SC2086 # one word for each package
    (cd "$work" && apt-get download -qq -o APT::Sandbox::User=root $names 2>problem)
}
if ! fetch "$@"; then
    if [ "$(id -u)" = 0 ]; then apt-get update -qq >"$work/problem" 2>&1 && fetch "$@"; else false; fi ||
        { tail -n 3 "$work/problem" >&2; echo "apt-get cannot get $*" >&2; exit 1; }
fi
for package in "$work"/*.deb; do dpkg -x "$package" "$folder"; done
