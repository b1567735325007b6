"""How much the programs of a box have written."""

from __future__ import annotations

import os
import stat


def size(folders: list[str], enough: int) -> int:
    """Bytes on disk of the files below `folders`, links not followed; stops counting above `enough`. Each name of a
    file counts for its part, a folder that cannot be read not at all."""
    total = 0
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
            else:
                total += info.st_blocks * 512 // info.st_nlink
    return total
