#!/usr/bin/env bash
# Prints the newest Python that Cepheid can run on, or says what is missing and how to get it (exit 1).
# PYTHON=<path> decides it by hand. A candidate is run, not only looked up: shims of version managers exist without working.
set -euo pipefail

needs="3.11"

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

is_enough() {
    local major="${1%%.*}" minor="${1#*.}"
    [ "$major" -gt "${needs%%.*}" ] || { [ "$major" -eq "${needs%%.*}" ] && [ "$minor" -ge "${needs#*.}" ]; }
}

remedy() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "  Install one:  apt-get install python3 python3-venv   (Debian 12, Ubuntu 24.04 or newer)"
        echo "  On an older release, or without root:  uv python install 3.12, then make PYTHON=\"\$(uv python find 3.12)\" …"
    elif [ "$(uname -s)" = "Darwin" ]; then
        echo "  Install one:  brew install python@3.13"
    elif command -v dnf >/dev/null 2>&1; then
        echo "  Install one:  dnf install python3.12"
    else
        echo "  Install Python $needs or newer with your system's package manager, pyenv or uv."
    fi
    echo "  If it is installed somewhere else, name it:  make PYTHON=/path/to/python3 …"
}

if [ -n "${PYTHON:-}" ]; then
    candidates=("$PYTHON")
else
    candidates=(python3.14 python3.13 python3.12 python3.11 python3 python)
fi

found=""
for candidate in "${candidates[@]}"; do
    version="$(version_of "$candidate")"
    [ -n "$version" ] || continue
    if is_enough "$version"; then
        command -v "$candidate"
        exit 0
    fi
    found="${found:+$found, }$candidate is $version"
done

{
    if [ -n "$found" ]; then
        echo "Cepheid needs Python $needs or newer, but $found."
    elif [ -n "${PYTHON:-}" ]; then
        echo "Cepheid needs Python $needs or newer, but PYTHON=$PYTHON cannot be run."
    else
        echo "Cepheid needs Python $needs or newer, but no Python was found."
    fi
    remedy
} >&2
exit 1
