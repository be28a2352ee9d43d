#!/usr/bin/env bash
# Installs the locked versions and the project itself (editable) into the virtual environment given (usually .venv).
# Does nothing if pyproject.toml and requirements.lock are what they were at the last install.
set -euo pipefail

venv="$1"
here="$(cd "$(dirname "$0")" && pwd)"
"$here/make-venv.sh" "$venv"

# Contents, not file times: a checkout of another branch and back changes the times only.
wanted="$(cat pyproject.toml requirements.lock | cksum)"
stamp="$venv/.installed"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi

# Not compiled: Python does that itself for the few modules that are imported. It is two thirds of pip's work.
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
echo "Installing into $venv (the first time this takes a minute or two: Spark is large)"
"${pip[@]}" --requirement requirements.lock
# The build backend is in the lock as well, so the project is built with what is installed.
"${pip[@]}" --no-deps --no-build-isolation --editable .
echo "$wanted" >"$stamp"
