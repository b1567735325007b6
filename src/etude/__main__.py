"""`python -m etude`."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:  # the folder may be a stranger's; what settings name is imported once it is trusted
        sys.path.remove(os.getcwd())
    from etude.cli.main import main

    raise SystemExit(main())
