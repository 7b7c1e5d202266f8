"""The sources that kernels are compiled from, by digest.

A kernel holds the code of the functions that it calls, and the values of globals. Each of these is made in
the module of the kernel, or has come there by an import. So what can change machine code are the files of the
package to which imports lead from the kernel's own file, and from the compiler, which has the machine code of
operations. An edit of any other file leaves it as it is.
"""

import hashlib
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+territorial\b\.?([.\w]*)"
    rb"|from[ \t]+territorial\b\.?([.\w]*)[ \t]+import[ \t]+(\((?:[^)#]|#[^\n]*)*\)|[^\n]*))",
    re.MULTILINE,
)
"""All imports of the package are absolute. To parse the files takes thirty times as long as to find this."""


class _SourceFile(NamedTuple):
    digest: bytes
    imported: set[str]
    """Paths of the files that it imports."""
    inits: list[str]
    """Paths of the ``__init__`` of the packages in which it lies."""


class Sources:
    """The files of ``package`` as they are when they are first read.

    That is while kernels are defined, just after Python has read them. A file that was edited after
    ``started``, in nanoseconds, is not known to have the code that runs in this process: Python may have
    read it before.
    """

    def __init__(self, package: Path = PACKAGE, started: int | None = None) -> None:
        self._package = os.path.realpath(package)
        self._started = time.time_ns() if started is None else started
        self._files: dict[str, _SourceFile] = {}

    def digest(self, file: str) -> str | None:
        """Return a digest of the sources of kernels in ``file``, independent of the package's location.

        None if the file is not of the package, or if a file can have changed since this process has its code.
        """
        folder, name = os.path.split(file)  # a link to a file stays, as Python imports from its folder
        own = os.path.join(os.path.realpath(folder), name)
        if not own.startswith(self._package + os.sep):
            return None
        reached, now = self.reached_from(own), time.time_ns()
        if any(self._started < os.stat(path).st_mtime_ns <= now for path in reached):
            return None
        digest = hashlib.blake2b(digest_size=8)
        for path in sorted(reached):
            relative = path[len(self._package) :].replace(os.sep, "/")
            digest.update(relative.encode() + b"\0" + self._file(path).digest)
        return digest.hexdigest()

    def reached_from(self, own: str) -> set[str]:
        """Return ``own`` and all files that its kernels can have code or constants of, or are compiled by.

        The packages in which these lie count with their ``__init__``, as it is run. What that imports
        counts only where one of the files imports the package itself.
        """
        reached: set[str] = set()
        to_follow = [own, os.path.join(self._package, "jit", "compiler.py")]
        while to_follow:
            path = to_follow.pop()
            if path not in reached:
                reached.add(path)
                to_follow += self._file(path).imported
        return reached.union(*(self._file(path).inits for path in reached))

    def _file(self, path: str) -> _SourceFile:
        if path not in self._files:
            content = Path(path).read_bytes()
            imported = {self._module(name) for name in imports_in(content)}
            folders = path[len(self._package) + 1 :].split(os.sep)[:-1]
            inits = [
                os.path.join(self._package, *folders[:depth], "__init__.py")
                for depth in range(len(folders) + 1)
            ]
            digest = hashlib.blake2b(content, digest_size=16).digest()
            self._files[path] = _SourceFile(digest, imported, inits)
        return self._files[path]

    def _module(self, name: str) -> str:
        """Return the file of the module ``name`` of the package, or else of the module that has the name."""
        place = os.path.join(self._package, *filter(None, name.split(".")))
        for file in (os.path.join(place, "__init__.py"), f"{place}.py"):
            if os.path.isfile(file):
                return file
        return self._module(name.rpartition(".")[0])


def imports_in(content: bytes) -> set[str]:
    """Return the modules of the package that a file imports: of ``from a import b`` a.b."""
    names: set[str] = set()
    for found in _IMPORT.finditer(content):
        module, origin, imported = (part.decode() for part in found.groups(b""))
        words = re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", imported))
        names |= {f"{origin}.{word}" for word in words} if imported else {module}
    return names


SOURCES = Sources()
"""Those of this process, read as kernels are defined."""
