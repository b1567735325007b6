"""What a program in the sandbox may see, and how much of everything it may use."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from etude.config.section_base import Section
from etude.errors import ConfigError

Network = Literal["none", "gateway", "host"]

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Programs and libraries, links among them."""

SETTINGS = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""Below /etc: no keys, no names of people and hosts."""

SETTINGS_FOR_NETWORK = ("hosts", "resolv.conf")
"""Below /etc: needed to find other machines."""


class Limits(Section):
    """How much a program may use. One that uses more is ended, with all processes it started."""

    seconds: float = Field(default=600, gt=0)
    """Wall-clock time."""
    grace_seconds: float = Field(default=5, ge=0)
    """Time between the request to end (SIGTERM) and the end (SIGKILL)."""
    memory_mb: int = Field(default=2048, ge=16)
    """Resident memory of all its processes together."""
    processes: int = Field(default=256, ge=1)
    """Processes at the same time; four times as many threads."""
    file_mb: int = Field(default=256, ge=1)
    """Size of one file: what would be written beyond fails."""
    disk_mb: int = Field(default=1024, ge=1)
    """Size of the files in its writable folders together."""
    output_kb: int = Field(default=4096, ge=1)
    """How much is kept of each of stdout and stderr. The middle of longer output is left out."""


@dataclass(frozen=True)
class Box:
    """The world of one run: folders it can write, folders it can read besides the system's, and its network.

    Whatever is not named here does not exist inside, except the system's programs, libraries and certificates.
    """

    workspace: Path
    """Where the program starts; writable."""
    writable: Sequence[Path] = ()
    """Further folders to write: the HOME and the TMPDIR of the attempt."""
    readable: Sequence[Path] = ()
    """Files and folders to read and to run programs from. What a link in them points to is not included."""
    network: Network = "none"
    """`none`; `gateway`: only http://127.0.0.1:`port`, which is `socket` outside; `host`: that of the machine."""
    socket: Path | None = None
    """The Unix socket on the host that answers for the gateway."""
    port: int = 0
    """Where the gateway is found inside, 1024 to 65535."""
    places: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Writable folders that are found under another path inside, as in `{"/app": folder}`. Only a sandbox with
    `moves` can do that."""

    def check(self) -> None:
        """Raises ConfigError where a folder does not exist or the gateway is not described."""
        for path in (self.workspace, *self.writable, *self.places.values()):
            if not path.is_dir():
                raise ConfigError(f"the folder '{path}' does not exist", hint="make it before the program starts")
        for path in self.readable:
            if not os.path.exists(path):
                raise ConfigError(f"the path '{path}' does not exist", hint="leave it out, or correct it")
        if self.network == "gateway":
            if self.socket is None:
                raise ConfigError("network 'gateway' needs a socket", hint="give the Unix socket of the gateway")
            if not 1024 <= self.port <= 65535:
                raise ConfigError(f"port '{self.port}' is not between 1024 and 65535", hint="choose a free port")
