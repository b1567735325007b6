"""The formats that model servers speak, from the server's side: bodies to requests, replies to bodies and events.

Readers are lenient, since what real programs send goes beyond what a model is asked: kinds of tools, blocks and items
that a `ChatRequest` has no place for are left out, or kept as text where they have some.
"""

from skillgrad.wires.base import BadBody, Call, Wire, estimate, with_field
from skillgrad.wires.chat import CHAT
from skillgrad.wires.messages import MESSAGES
from skillgrad.wires.responses import RESPONSES

__all__ = ["CHAT", "MESSAGES", "RESPONSES", "BadBody", "Call", "Wire", "estimate", "with_field"]
