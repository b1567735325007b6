"""The sandboxes that work on this machine."""

import sys

from sandbox_fixtures import sandbox as sandbox
from sandbox_fixtures import sandboxes as sandboxes
from sandbox_fixtures import user as user
from sandbox_fixtures import workspace as workspace

collect_ignore_glob = [] if sys.platform.startswith("linux") else ["test_*"]
