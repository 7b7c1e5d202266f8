"""One writer a store: the run that holds it, as long as its process lives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from territorial.files.locks import InUseError, one_writer
from territorial.snapshots.errors import StoreInUseError

WRITER = ".writer"
"""The file in a store that its writer has locked; it says who that is."""


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store in ``path`` as the one run that writes to it; others may read.

    Raises StoreInUseError if another run has it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(one_writer(path / WRITER))
        except InUseError as error:
            raise StoreInUseError(
                f"another run writes to the store {path} ({error.holder}); each run needs "
                "its own folder. Or end the other run first, with algorithm.stop() if it is in "
                "this process"
            ) from None
        yield
