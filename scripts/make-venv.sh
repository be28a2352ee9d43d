#!/usr/bin/env bash
# Makes the virtual environment in the directory given (usually .venv). One that works is kept as it is;
# one that does not (its Python was removed, or the project was moved) is made anew.
set -euo pipefail

venv="$1"
here="$(cd "$(dirname "$0")" && pwd)"

works() {
    # The path is compared too: the scripts of a moved environment still point to where it was made.
    { [ ! -f "$venv/.made-at" ] || [ "$(cat "$venv/.made-at")" = "$(cd "$venv" && pwd -P)" ]; } &&
        "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -d "$venv" ] && works; then
    exit 0
fi

python="$("$here/find-python.sh")"
if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    {
        echo "$python has no venv module, so no virtual environment can be made."
        if command -v apt-get >/dev/null 2>&1; then
            echo "  Install it:  apt-get install python$version-venv   (as root)"
        else
            echo "  Install the venv package that belongs to Python $version, or name another:  make PYTHON=/path/to/python3 …"
        fi
    } >&2
    exit 1
fi

echo "Making $venv with $python"
rm -rf "$venv"
"$python" -m venv "$venv"
(cd "$venv" && pwd -P) >"$venv/.made-at"
