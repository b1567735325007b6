"""Secrets never reach the disk: what is stored passes a `Redactor`, transcripts before anybody reads them."""

from etude.redaction.keys import check_keys
from etude.redaction.redactor import Redactor

__all__ = ["Redactor", "check_keys"]
