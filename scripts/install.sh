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
pip=("$venv/bin/python" -m pip --quiet --disable-pip-version-check)
install=("${pip[@]}" install --no-compile)
echo "Installing into $venv (the first time this takes a minute or two: Spark is large)"
# The pip that comes with Python 3.11 needs twice the time to choose among a package's files.
"${install[@]}" --upgrade "pip>=25"

# Spark comes as sources. A wheel is made of them beside the rest, and without compressing what is unpacked at once.
parts="$(mktemp -d)"
trap 'rm -rf "$parts"' EXIT
awk -v parts="$parts" '/^[a-zA-Z0-9]/ { file = parts (/^pyspark==/ ? "/spark.txt" : "/others.txt") } file { print > file }' requirements.lock
printf '[bdist_wheel]\ncompression = stored\n' >"$parts/stored.cfg"
DIST_EXTRA_CONFIG="$parts/stored.cfg" "${pip[@]}" wheel --no-deps --wheel-dir "$parts" --requirement "$parts/spark.txt" &
"${install[@]}" --requirement "$parts/others.txt"
wait $!
"${install[@]}" --no-deps --no-index --find-links "$parts" pyspark

# The build backend is in the lock as well, so the project is built with what is installed.
"${install[@]}" --no-deps --no-build-isolation --editable .
echo "$wanted" >"$stamp"
