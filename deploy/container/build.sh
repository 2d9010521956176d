#!/bin/sh
# Installs the server into a new virtualenv: deploy/container/build.sh SOURCE TARGET
# SOURCE is a checkout, TARGET a folder that does not exist. All versions come from the lock files;
# pip takes its index from its own configuration.
set -eu

source=$(cd "$1" && pwd)
target=$2
python=${PYTHON:-python3}
if [ -e "$target" ]; then
    echo "build.sh: $target exists" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'status=$?; rm -rf "$work"; [ $status = 0 ] || rm -rf "$target"' EXIT
trap 'exit 130' INT TERM HUP
# the builder has a virtualenv of its own: the image gets none of its packages, and no pip
"$python" -m venv "$work/builder"
"$python" -m venv --without-pip "$target"
pip() { "$work/builder/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }
in_target() { pip --python "$target/bin/python" "$@"; }

pip install --quiet --no-compile -c "$source/requirements-dev.lock" hatchling
pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$source"
for wheel in "$work"/wheels/*.whl; do
    in_target install --quiet -c "$source/requirements.lock" "$wheel[server,codecs]"
done
in_target check
