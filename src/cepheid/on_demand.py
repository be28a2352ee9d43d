"""Names of a package that are imported when somebody asks for them.

Spark's workers import the packages too, for their modules; what only users need would cost each new worker half a
second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_demand(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `places` names the module of each name."""

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(__import__(places[name], fromlist=[name]), name)
        setattr(sys.modules[package], name, value)  # the next time it is simply there
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
