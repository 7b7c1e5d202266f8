"""What the tests of maps share."""

from collections import deque

import numpy as np
import numpy.typing as npt


def flood(land: npt.NDArray[np.bool_]) -> list[tuple[int, tuple[int, int]]]:
    """Sizes and first cells of the regions in reading order, by breadth-first search."""
    open_cells = {(int(r), int(c)) for r, c in np.argwhere(land)}
    regions = []
    for first in sorted(open_cells):
        if first not in open_cells:
            continue
        open_cells.remove(first)
        queue, size = deque([first]), 0
        while queue:
            r, c = queue.popleft()
            size += 1
            for cell in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                if cell in open_cells:
                    open_cells.remove(cell)
                    queue.append(cell)
        regions.append((size, first))
    return regions
