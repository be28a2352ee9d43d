#!/usr/bin/env bash
# Builds wheel and sdist, installs each into an empty virtual environment under build/, and tries it there, away from the
# sources: first without extras, then with the command line, the wheel also with a job on Spark, unless the second argument
# is without-spark. Other packages have the locked versions. PYTHON=/path/to/python3.13 tries them with another Python.
set -euo pipefail
unset PYTHONPATH

here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/.."
builder="${1:-.venv}/bin/python"
spark="${2:-with-spark}"
dist="$PWD/build/dist"
rm -rf "$dist"
"$builder" -m hatchling build --target wheel --target sdist --directory "$dist" >/dev/null
# The lock without its hashes, which pip does not take for what is built here.
sed -n -e 's/^\([A-Za-z0-9].*[^ ]\) *\\$/\1/p' requirements.lock >"$dist/constraints.txt"

for package in "$dist"/*.whl "$dist"/*.tar.gz; do
    venv="$PWD/build/package-$(case "$package" in *.whl) echo wheel ;; *) echo sdist ;; esac)"
    rm -rf "$venv"
    "$here/make-venv.sh" "$venv"
    pip=("$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --constraint "$dist/constraints.txt")
    "${pip[@]}" "$package"
    (
        cd "$venv"
        CEPHEID_CACHE="$dist/cache" bin/python - <<'PYTHON'
import sys
from pathlib import Path

import cepheid
from cepheid import Pattern, PatternSet, RowPattern, demo

assert Path(cepheid.__file__).is_relative_to(sys.prefix), cepheid.__file__
assert not {"rich", "pandas", "pyspark"} & set(sys.modules), "an extra is imported without need"
rows = [{"t": t, "price": price} for t, price in enumerate([5, 7, 12], start=1)]
rise = Pattern.begin("low").followed_by("high").where("price > 2 * low.price")
assert [match["high"]["price"] for match in rise.match_events(rows, order_by="t").matches] == [12]
assert len(PatternSet({"rise": rise}).match_events(rows, order_by="t").matches) == 1
clause = "ORDER BY t MEASURES LAST(UP.price) AS top PATTERN (DOWN UP+) DEFINE UP AS price > PREV(price)"
assert len(RowPattern.parse(clause).match_events(rows).matches) == 1
print(f"{cepheid.__version__} matches in memory")
PYTHON
        if said="$(bin/cepheid --help 2>&1)"; then
            echo "the command line runs without rich, which it needs" >&2
            exit 1
        fi
        case "$said" in *"pip install 'cepheid[cli]'"*) ;; *) echo "$said" >&2; exit 1 ;; esac
    )
    "${pip[@]}" "cepheid[cli] @ file://$package"
    (cd "$venv" && bin/cepheid --help >/dev/null)
    tried="in memory"
    case "$spark $package" in
        with-spark\ *.whl)
            "${pip[@]}" "cepheid[spark] @ file://$package"
            (cd "$venv" && PYSPARK_PYTHON="$venv/bin/python" CEPHEID_CACHE="$dist/cache" bin/python - <<'PYTHON')
from pyspark.sql import SparkSession

from cepheid import Pattern

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.createDataFrame([(1, 5), (2, 7), (3, 12)], "t long, price long")
rise = Pattern.begin("low").followed_by("high").where("price > 2 * low.price")
assert [row.high.price for row in rise.match(rows, order_by="t").matches.collect()] == [12]
spark.stop()
PYTHON
            tried="in memory and on Spark"
            ;;
    esac
    echo "$(basename "$package"): installs and runs $tried on $("$venv/bin/python" --version)"
done
