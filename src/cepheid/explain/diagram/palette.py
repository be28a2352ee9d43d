"""The colours of all pictures, for light and dark surroundings, and the style sheets made of them.

Out: CSS text. A picture names roles, such as `ink` or `not`; which colour that is depends on what the reader's system
prefers. Every picture has a background of its own, so it is legible on any page.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "background": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "faint": "#d1d9e0",
    "card": "#f6f8fa",
    "frame": "#fbfcfd",
    "edge": "#818b98",
    "not": "#c5283d",
    "not-card": "#fff1f1",
    "accent": "#0a5cc2",
    "pill": "#ddefff",
    "band": "#eaf3ff",
}
DARK: Mapping[str, str] = {
    "background": "#14181f",
    "ink": "#e6edf3",
    "muted": "#9aa7b4",
    "faint": "#333c47",
    "card": "#212934",
    "frame": "#1a2029",
    "edge": "#7d8a98",
    "not": "#ff7b82",
    "not-card": "#3a1f25",
    "accent": "#78b6ff",
    "pill": "#17365c",
    "band": "#1b2a3f",
}

VARIABLES_LIGHT = ("#0a66c2", "#b35900", "#1a7f4b", "#8440c2", "#b0256f", "#5d6b00", "#007a8a", "#9a4a2f")
VARIABLES_DARK = ("#6cb2ff", "#ffab5e", "#58d68d", "#c99bff", "#ff8ec4", "#cddc4b", "#4fd3e3", "#e8a184")
"""Colours of variables, in the order of writing; they repeat beyond the last."""

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace"


def in_both(rules: str, scope: str = "") -> str:
    """Rules that name colours as `$role$`, for light, and again for dark where the reader prefers it."""
    return f"{_filled(rules, LIGHT, scope)}@media (prefers-color-scheme:dark){{{_filled(rules, DARK, scope)}}}"


def scoped(rules: str, scope: str) -> str:
    """The rules for what is inside `scope` only: a picture in a page must not restyle the page."""
    parts = []
    for rule in filter(None, rules.split("}")):
        selectors, _, declarations = rule.partition("{")
        inside = ",".join(f"{scope} {selector}".strip() for selector in selectors.split(","))
        parts.append(f"{inside}{{{declarations}}}")
    return "".join(parts)


def _filled(rules: str, colours: Mapping[str, str], scope: str) -> str:
    for role, colour in colours.items():
        rules = rules.replace(f"${role}$", colour)
    return scoped(rules, scope)
