#!/usr/bin/env bash
# Tries Cepheid with other Pythons, each in a virtual environment of its own under build/ with the locked versions: matches
# in memory, a batch on Spark, a stream, SQL. Arguments are versions or paths; one that is not installed is left out.
set -euo pipefail
unset PYTHONPATH

here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/.."
mkdir -p build
[ $# -gt 0 ] || set -- 3.12 3.13 3.14

tried=""
for given in "$@"; do
    case "$given" in
        */*) export PYTHON="$given" ;;
        *)
            export PYTHON="python$given"
            # What pyenv has installed can be run by its name only if it is selected.
            if version="$(pyenv latest "$given" 2>/dev/null)"; then export PYENV_VERSION="$version"; fi
            ;;
    esac
    if ! version="$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)"; then
        echo "$given: left out, since there is no such Python here"
        continue
    fi
    venv="build/python-$version"
    "$here/install.sh" "$venv"
    echo "$("$venv/bin/python" --version):"
    # A selection: what a version of Python can break is compiling the engine, pickling what travels to Spark's workers, and
    # the packages.
    "$venv/bin/python" -m pytest tests/rows/test_in_memory.py tests/engine/test_state.py tests/spark/test_batch.py \
        tests/spark/stream/test_streaming.py::test_outputs_restart_and_flush \
        tests/spark/test_row_patterns.py::test_views_joins_common_tables_and_nesting \
        tests/spark/test_row_patterns.py::test_functions_that_only_spark_has
    tried="$tried $version"
done
if [ -z "$tried" ]; then
    echo "none of $* is installed" >&2
    exit 1
fi
echo "tried:$tried"
