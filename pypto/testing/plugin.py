"""The pytest plugin, which registers itself: ``pytest --update-goldens`` rewrites the golden files of ``assert_golden``."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("pypto")
    group.addoption("--update-goldens", action="store_true", default=False, help="write the golden files of assert_golden anew")


def pytest_configure(config: pytest.Config) -> None:
    """Hand the option on, only when it is given: nothing else is imported at the start of a test run."""
    if config.getoption("--update-goldens"):
        from pypto.testing.golden import set_update

        set_update(True)
