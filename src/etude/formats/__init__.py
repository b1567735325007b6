"""The formats that model servers speak, both ways: what servers read and write, and what clients do. Gemini is here
for servers only.

Readers are lenient, since what real programs and servers send goes beyond what a model is asked: kinds of tools,
blocks and items that the records have no place for are left out, or kept as text where they have some.
"""

from etude.formats.chat_completions import CHAT
from etude.formats.gemini import GEMINI
from etude.formats.messages import MESSAGES
from etude.formats.responses import RESPONSES
from etude.formats.wire import BadBody, Format, ServedFormat, WireRequest, estimate, with_field

__all__ = [
    "CHAT",
    "GEMINI",
    "MESSAGES",
    "RESPONSES",
    "BadBody",
    "Format",
    "ServedFormat",
    "WireRequest",
    "estimate",
    "with_field",
]
