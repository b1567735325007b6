"""What a source of transcripts is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from etude.sleep.transcripts.sessions import Reading, UnreadSession
from etude.sleep.transcripts.sources.lines import reason_of


class Source(ABC):
    """The transcripts of one agent program. Reads, and never writes, moves or locks anything of the program's.

    A transcript is data of strangers: whatever is in it, reading ends with a `Reading` and does not raise.
    """

    name: ClassVar[str]

    @abstractmethod
    def find(self, home: Path, environ: Mapping[str, str]) -> Sequence[UnreadSession]:
        """The sessions under a home folder, each once, in any order; none when the program was never used. Reads no
        more of each than it must. What cannot be read is one of them, and its reading has the reason.

        Args:
            home: the user's home folder.
            environ: where programs let their folders be moved to, such as `CODEX_HOME`.

        Raises:
            OSError: the folder of the program cannot be read.
        """

    def read(self, found: UnreadSession) -> Reading:
        """Read one session."""
        try:
            return self._read(found)
        except OSError as error:
            return Reading(problem=reason_of(error))

    @abstractmethod
    def _read(self, found: UnreadSession) -> Reading:
        """Read one session; an OSError becomes the problem of the reading."""
