"""Output of any length in bounded memory."""

__all__ = ["Output"]


class Output:
    """Keeps the beginning and the end of what is added, at most `most` bytes. The cut is marked where it is."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """More output."""
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def cut(self) -> bool:
        """Something was left out."""
        return self._total > 2 * self._half

    def text(self) -> bytes:
        """What was kept; between the parts a line that says how many bytes are missing."""
        if not self.cut:
            return bytes(self._head + self._tail)
        missing = self._total - 2 * self._half
        return b"%b\n[%d bytes left out]\n%b" % (self._head, missing, self._tail[-self._half :])
