"""Put measured tables into a document: `python bench/document.py docs/benchmarks.md results.json …`.

In: JSON files that `bench/run.py` and the experiments wrote. Out: the document, with every block between
`<!-- results: NAME -->` and `<!-- end -->` replaced by what the file NAME.json says. Other blocks stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from reporting import Column, Section, headline, to_table

BLOCK = re.compile(r"<!-- results: (?P<name>[\w -]+) -->\n.*?<!-- end -->", re.DOTALL)


def main(document: Path, *results: Path) -> None:
    said = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in results}
    used: set[str] = set()

    def replaced(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in said:
            return found[0]
        used.add(name)
        facts, sections = said[name]["environment"], said[name]["sections"].items()
        parts = [
            to_table(Section(key, content["title"], _columns(content), content["rows"])) for key, content in sections
        ]
        body = "\n\n".join([*parts, f"<small>{headline(facts)}</small>"])
        return f"<!-- results: {name} -->\n\n{body}\n\n<!-- end -->"

    text = BLOCK.sub(replaced, document.read_text(encoding="utf-8"))
    if unused := said.keys() - used:
        raise SystemExit(f"{document} has no place for {', '.join(sorted(unused))}")
    document.write_text(text, encoding="utf-8")


def _columns(content: dict[str, list[dict[str, str | int]]]) -> tuple[Column, ...]:
    return tuple(Column(str(c["key"]), str(c["heading"]), int(c["decimals"])) for c in content["columns"])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
