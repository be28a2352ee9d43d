#!/usr/bin/env bash
# Runs the tests of batch and streams on the oldest Spark that Cepheid supports, in a virtual environment of its own under
# build/: everything else has the locked versions. Arguments go to pytest instead of the usual files.
set -euo pipefail

spark="4.0"
venv="build/oldest-spark"
here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/.."
mkdir -p build
"$here/make-venv.sh" "$venv"

wanted="$spark $(cat pyproject.toml requirements.lock | cksum)"
stamp="$venv/.installed"
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    echo "Installing Spark $spark into $venv (the first time this takes a few minutes)"
    # The lock without its hashes, without Spark and without py4j, of which each Spark wants its own.
    sed -n -e '/^pyspark==/d' -e '/^py4j==/d' -e 's/^\([A-Za-z0-9].*[^ ]\) *\\$/\1/p' requirements.lock >"$venv/constraints.txt"
    pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$venv/constraints.txt")
    "${pip[@]}" "pyspark[sql]==$spark.*" protobuf hypothesis pytest hatchling editables
    "${pip[@]}" --no-build-isolation --editable .
    echo "$wanted" >"$stamp"
fi

if [ $# -eq 0 ]; then
    set -- tests/spark/test_batch.py tests/spark/test_batch_output.py tests/spark/test_buckets.py \
        tests/spark/stream/test_streaming.py tests/spark/test_merged_table.py
fi
exec "$venv/bin/python" -m pytest "$@"
