from collections.abc import Iterator

import pytest

from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.simulation.faults import Faults


@pytest.fixture(scope="session")
def shared() -> Iterator[Endpoint]:
    with running_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(shared: Endpoint) -> Iterator[Endpoint]:
    """Without faults, and with nothing counted."""
    shared.reset_stats()
    shared.set_faults(Faults())
    yield shared
    shared.set_faults(Faults())
