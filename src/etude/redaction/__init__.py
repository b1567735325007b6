"""Secrets never reach the disk: what is stored passes a `Redactor`, transcripts before anybody reads them."""

from etude.redaction.redactor import Redactor, check_keys

__all__ = ["Redactor", "check_keys"]
