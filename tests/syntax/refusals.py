"""What the tests of rejections share: an error must name the element, say what is wrong, and what would be right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cepheid.errors import MalformedPatternError


def refused(action: Callable[[], object], element: str, problem: str, remedy: str) -> None:
    with pytest.raises(MalformedPatternError) as error:
        action()
    assert error.value.element == element
    assert problem in error.value.problem
    assert remedy in error.value.remedy
    assert str(error.value).count("\n") < 10
