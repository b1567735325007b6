import ctypes
import functools
import gc
import os
import ssl
import sys
from collections.abc import Generator, Iterator

import httpcore2
import pytest

from etude.sandbox import Sandbox, find


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and stay until the end: looking through them for garbage takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        if "hypothesis" in sys.modules:  # when it is imported, it asks who knows an object: frozen ones are not told
            gc.freeze()
        gc.set_threshold(50_000)  # of the time of a training it takes a tenth at each 700th object
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with the clients of providers come first, so that one worker imports those, which takes seconds."""
    items.sort(key=lambda item: not {"anthropic", "openai"} & vars(item.getparent(pytest.Module).obj).keys())


def pytest_configure(config: pytest.Config) -> None:
    """Programs in boxes are watched as for any user but root. In real time, which only root may ask for, the kernel
    spins for up to a second at each end of a program where the machine is busy. Bombs, which need it, are slow tests.
    """
    if sys.platform == "linux" and "not slow" in config.option.markexpr:
        bounding_drop, sys_nice = 24, 23
        ctypes.CDLL(None).prctl(bounding_drop, sys_nice, 0, 0, 0)


@pytest.fixture(scope="session", autouse=True)
def state_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests trust is remembered in a folder of theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Each client of a server reads all certificates of the machine, which takes longer than most tests."""
    read = httpcore2.default_ssl_context
    kept = functools.cache(lambda *wanted: read(_trust_env=wanted[-1]))

    def context(*, _trust_env: bool = True) -> ssl.SSLContext:
        return kept(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")), _trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", context)
        yield


@pytest.fixture(scope="session", autouse=True)
def sandbox_tried_once() -> Iterator[None]:
    """Each environment and each agent tries its sandbox out, which starts several processes."""
    tried, known = find._trial, dict[object, str]()

    def trial(sandbox: Sandbox) -> str:
        key = (type(sandbox), *vars(sandbox).items())
        if key not in known:
            known[key] = tried(sandbox)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find, "_trial", trial)
        yield
