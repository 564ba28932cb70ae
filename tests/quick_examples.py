"""What mutation testing asks of pytest and hypothesis: quick tests first, and of any fault the first example.

A changed line is mostly noticed by a test of one example; then the thousands of a property need not be tried.
"""

import pytest
from hypothesis import Phase, settings

settings.register_profile("mutation", max_examples=50, phases=[Phase.explicit, Phase.generate], database=None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of hypothesis last."""
    items.sort(key=lambda item: getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
