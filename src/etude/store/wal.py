"""The write-ahead log of SQLite, as far as one has to know it to see that its end would be left out.

SQLite takes a log up to the first page that is not as it was written, and says nothing about those after it. After a
kill that is right: the last page may be half there. A transaction of the same log that ends further on is another
matter: it was written whole, so something changed what stands before it.
"""

import struct
from functools import lru_cache
from pathlib import Path

_HEADER, _FRAME = 32, 24
"""Bytes of the header of the log, and of that of each page in it."""
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""How a log begins, and the order of bytes in which its sums are made."""
_PAGE_SIZES = {2**power for power in range(9, 17)}

_Sums = tuple[int, int]


def cut_short(log: Path) -> bool:
    """Whether a log holds transactions that would be left out; not where there is no log."""
    try:
        state = log.stat()
        return state.st_size >= _HEADER and _cut_short(log, state.st_size, state.st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=4)
def _cut_short(log: Path, size: int, changed: int) -> bool:
    """The same, once for each state of a file: it takes a tenth of a second for two megabytes."""
    del size, changed
    data = log.read_bytes()
    magic, _, page = struct.unpack(">III", data[:12])
    order, sums = _MAGIC.get(magic), struct.unpack(">II", data[24:32])
    if order is None or page not in _PAGE_SIZES or _sums(data[:24], order, (0, 0)) != sums:
        return True
    starts = range(_HEADER, len(data) - page - _FRAME + 1, page + _FRAME)
    # The log is used again from its start; pages with other salts are of an earlier time. Pages of a transaction that
    # was not ended may be left, too: only its last page has a size of the database.
    own = [start for start in starts if data[start + 8 : start + 16] == data[16:24]]
    ends = [start for start in own if data[start + 4 : start + 8] != bytes(4)]
    for number, start in enumerate(starts):
        body = data[start : start + 8] + data[start + _FRAME : start + _FRAME + page]
        sums = _sums(body, order, sums)
        if own[number : number + 1] != [start] or sums != struct.unpack_from(">II", data, start + 16):
            return any(end > start for end in ends)
    return False


def _sums(data: bytes, order: str, sums: _Sums) -> _Sums:
    """The running sums of a log, carried on over more of it."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
