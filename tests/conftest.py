from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def state_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests trust is remembered in a folder of theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
