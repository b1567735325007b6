"""Small pictures of every kind."""

import base64
import struct
import zlib
from pathlib import Path


def png(colour: int = 0) -> bytes:
    """One pixel; another colour makes another picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixel = zlib.compress(bytes([0, colour]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


KINDS = {
    "image/png": png(),
    "image/jpeg": b"\xff\xd8\xff\xe0" + bytes(8),
    "image/gif": b"GIF89a" + bytes(8),
    "image/webp": b"RIFF\x04\x00\x00\x00WEBP",
}


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def write_png(path: Path, colour: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(colour))
    return path.name
