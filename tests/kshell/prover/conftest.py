from collections.abc import Iterator

import pytest

from . import proving


@pytest.fixture(scope="session", autouse=True)
def _no_checker_is_left() -> Iterator[None]:
    yield
    proving.close()
