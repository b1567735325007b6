"""Models over HTTP: `openai:` with a `base_url`, here against the simulated endpoint with a few faults.

    python examples/over_http.py [FOLDER]

Needs the extra `serve`. For a real server leave out the endpoint and give its address.
"""

import sys
import tempfile

from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults


def main(folder: str) -> None:
    """Train over HTTP and in this process, and compare."""
    tasks = make_tasks("sorting", 32, seed=4)
    env = ListEnvironment(tasks[:12], tasks[12:22], tasks[22:], scorer="exact")
    skill = Skill(name="sorting", text=SEED_SKILL)
    config = {"train": {"epochs": 1}, "run": {"folder": folder, "name": "in-process"}}
    in_process = Trainer(config, env=env, skill=skill).train()

    with running_endpoint(Faults(server_error=0.05, rate_limit_bare=0.05)) as endpoint:
        server = {"base_url": endpoint.url, "api_key_env": "NO_KEY_NEEDED"}
        over_http = {
            **config,
            "target": {"model": "openai:target", **server},
            "optimizer": {"model": "openai:optimizer", **server},
            "run": {"folder": folder, "name": "over-http"},
        }
        summary = Trainer(over_http, env=env, skill=skill).train()
        stats = endpoint.stats()
    print(f"{stats['answered']} requests answered, faults: {', '.join(sorted(stats['by_fault']))}")
    print(f"same scores as in this process: {summary.best == in_process.best}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
