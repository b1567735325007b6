"""`python -m etude`."""

from etude.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
