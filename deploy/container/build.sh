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
trap 'rm -rf "$work"' EXIT
pip="pip --disable-pip-version-check --no-input"

# the builder has a virtualenv of its own: the image gets none of its packages
"$python" -m venv "$work/builder"
"$work/builder/bin/python" -m $pip install --quiet --no-compile -c "$source/requirements-dev.lock" hatchling
"$work/builder/bin/python" -m $pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$source"

"$python" -m venv "$target"
for wheel in "$work"/wheels/*.whl; do
    "$target/bin/python" -m $pip install --quiet -c "$source/requirements.lock" "$wheel[server,codecs]"
done
"$target/bin/python" -m $pip check
"$target/bin/python" -m $pip uninstall --quiet --yes pip setuptools
