"""`python -m skillgrad`."""

from skillgrad.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
