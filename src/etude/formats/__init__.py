"""The formats that model servers speak, from the server's side: bodies to requests, replies to bodies and events.

Readers are lenient, since what real programs send goes beyond what a model is asked: kinds of tools, blocks and items
that a `ChatRequest` has no place for are left out, or kept as text where they have some.
"""

from etude.formats.base import BadBody, Call, Wire, estimate, with_field
from etude.formats.chat_completions import CHAT
from etude.formats.messages import MESSAGES
from etude.formats.responses import RESPONSES

__all__ = ["CHAT", "MESSAGES", "RESPONSES", "BadBody", "Call", "Wire", "estimate", "with_field"]
