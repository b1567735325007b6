"""A Ray cluster of two nodes with two CPUs each, until standard input ends. A line on it kills the second node.

Says first, as JSON, where it is and which processes start its workers.
"""

import json
import os
import sys

from ray._private.ray_constants import PROCESS_TYPE_RAYLET
from ray.cluster_utils import Cluster


def main() -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    second = cluster.add_node(num_cpus=2)
    raylets = [node.all_processes[PROCESS_TYPE_RAYLET][0].process.pid for node in (cluster.head_node, second)]
    out.write(f"{json.dumps({'address': cluster.address, 'raylets': raylets})}\n")
    for _ in sys.stdin:
        cluster.remove_node(second, allow_graceful=False)
        out.write("lost\n")
    cluster.shutdown()


if __name__ == "__main__":
    main()
