"""Takes out of libraries for macOS what Zig's linker has them ask for.

The names are those of ``mach-o/loader.h`` and ``kern/cs_blobs.h``.
"""

import hashlib
import struct

BINDER = b"dyld_stub_binder"
DYLD_INFO, SYMTAB, DYSYMTAB, CODE_SIGNATURE = 0x80000022, 0x2, 0xB, 0x1D
LOCAL = 0x80000000


def without_binder(library: bytes) -> bytes:
    """Return a library for macOS that does not ask for the symbol which Zig puts into each, and nothing uses.

    ValueError for a library that asks for more. A signature has the SHA-256 of each page.
    """
    data, commands, place = bytearray(library), dict[int, int](), 32  # bytes of the header
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        kind, size = struct.unpack_from("<II", data, place)
        commands[kind] = place
        place += size
    symbols, dynamic = commands[SYMTAB], commands[DYSYMTAB]
    symoff, nsyms, stroff, _ = struct.unpack_from("<4I", data, symbols + 8)
    iundefsym, nundefsym = struct.unpack_from("<2I", data, dynamic + 24)
    indirectsymoff, nindirectsyms = struct.unpack_from("<2I", data, dynamic + 56)
    name = stroff + struct.unpack_from("<I", data, symoff + 16 * iundefsym)[0]
    one_alone = (nundefsym, nindirectsyms, iundefsym + 1) == (1, 1, nsyms)
    if not one_alone or not data.startswith(BINDER + b"\0", name):
        raise ValueError(f"the library for macOS asks for {nundefsym} symbols, and not for {BINDER!r} alone")
    struct.pack_into("<I", data, symbols + 12, iundefsym)  # nsyms
    struct.pack_into("<I", data, dynamic + 28, 0)  # nundefsym
    struct.pack_into("<I", data, indirectsymoff, LOCAL)
    struct.pack_into("<I", data, commands[DYLD_INFO] + 20, 0)  # bind_size
    if CODE_SIGNATURE not in commands:
        return bytes(data)
    signature = struct.unpack_from("<I", data, commands[CODE_SIGNATURE] + 8)[0]
    blob = signature + struct.unpack_from(">I", data, signature + 16)[0]  # its CodeDirectory
    hashes, page = blob + struct.unpack_from(">I", data, blob + 16)[0], 1 << data[blob + 39]
    for number, begin in enumerate(range(0, signature, page)):
        digest = hashlib.sha256(data[begin : min(begin + page, signature)]).digest()
        data[hashes + 32 * number : hashes + 32 * (number + 1)] = digest
    return bytes(data)
