"""What programs keep out of sight: files without a name that are open, mapped, or in flight between processes."""

from __future__ import annotations

import os
import stat

from .processes import threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Held:
    """Files that are deleted, or never had a name, and that these processes keep."""

    def __init__(self, pids: list[int], folders: list[str]) -> None:
        """`folders` are those of the box, on its disk; what is elsewhere is memory."""
        self.more_disk = self.more_memory = False
        """There may be more: a descriptor is in flight, or only root may look at a mapping or at a process."""
        self._folders = tuple(os.fsencode(os.path.realpath(folder)) + b"/" for folder in folders)
        self._files: dict[tuple[int, int], int] = {}
        self._sockets: set[int] = set()
        for pid in pids:
            for thread in threads(pid):
                self._look(self._opened, thread)
        for pid in pids:
            for thread in threads(pid):
                if self._look(self._mapped, thread):
                    break
        devices = {os.stat(folder).st_dev for folder in self._folders}
        self.disk = sum(size for (device, _), size in self._files.items() if device in devices)
        self.memory = sum(self._files.values()) - self.disk

    def _look(self, how: Callable[[int], bool], thread: int) -> bool:
        try:
            return how(thread)
        except PermissionError:
            self.more_disk = self.more_memory = True
        except OSError:
            pass  # it is gone
        return False

    def _opened(self, thread: int) -> bool:
        for number in os.listdir(f"/proc/{thread}/fd"):
            try:
                info = os.stat(f"/proc/{thread}/fd/{number}")
                if stat.S_ISSOCK(info.st_mode) and info.st_ino not in self._sockets:
                    self._sockets.add(info.st_ino)
                    with open(f"/proc/{thread}/fdinfo/{number}", "rb") as file:
                        if any(row[0] == b"scm_fds:" and row[1] != b"0" for row in map(bytes.split, file)):
                            self.more_disk = self.more_memory = True
            except FileNotFoundError:
                continue
            self._add(info)
        return True

    def _mapped(self, thread: int) -> bool:
        """False for a thread that has ended."""
        with open(f"/proc/{thread}/maps", "rb") as file:
            rows = [row for row in (line.split(None, 5) for line in file) if len(row) == 6]
        for span, _, _, device, inode, path in rows:
            if inode == b"0" or not (path.endswith(b" (deleted)\n") or path.startswith(b"[anon_shmem")):
                continue
            major, minor = (int(part, 16) for part in device.split(b":"))
            if (os.makedev(major, minor), int(inode)) not in self._files:
                begin, end = (int(part, 16) for part in span.split(b"-"))
                try:
                    self._add(os.stat(f"/proc/{thread}/map_files/{begin:x}-{end:x}"))
                except FileNotFoundError:
                    continue
                except PermissionError:
                    of_disk = path.startswith(self._folders)
                    self.more_disk |= of_disk
                    self.more_memory |= not of_disk
        return bool(rows)

    def _add(self, info: os.stat_result) -> None:
        if info.st_nlink == 0 and stat.S_ISREG(info.st_mode):
            self._files[info.st_dev, info.st_ino] = info.st_blocks * 512
