"""How much the programs of a box have written."""

from __future__ import annotations

import os
import stat

_LEAST = 4096
"""What an entry counts at least: an empty file takes room, too, and counting ends even where there are only those."""


def size(folders: list[str], enough: int) -> int:
    """Bytes on disk below `folders`, links not followed; stops counting above `enough`. A folder that cannot be read
    counts as an entry only, and a file with several names once."""
    total = 0
    twins: set[tuple[int, int]] = set()
    stack = list(folders)
    while stack and total <= enough:
        try:
            entries = list(os.scandir(stack.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone
            if stat.S_ISDIR(info.st_mode):
                stack.append(entry.path)
            elif info.st_nlink > 1:
                if (info.st_dev, info.st_ino) in twins:
                    continue
                twins.add((info.st_dev, info.st_ino))
            total += max(info.st_blocks * 512, _LEAST)
    return total
