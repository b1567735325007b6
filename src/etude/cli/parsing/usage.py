"""Wrong usage of the command line."""

from etude.errors import InputError


class UsageError(InputError):
    """A verb, option or argument is unknown, missing or out of range."""
