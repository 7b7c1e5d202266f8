"""Random histories of boards, for whatever packs or unpacks them."""

from hypothesis import strategies as st

from territorial.constants import BLOCKED
from territorial.observation.layout import ObsLayout


@st.composite
def histories(draw):
    """A layout and one to six boards, each a few cells away from the one before."""
    layout = ObsLayout(
        height=draw(st.integers(16, 20)),
        width=draw(st.integers(16, 34)),
        num_players=draw(st.one_of(st.sampled_from([2, 3, 6, 7, 14, 15, 249, 250]), st.integers(2, 250))),
        frames=draw(st.integers(1, 5)),
    )
    codes = st.integers(0, layout.num_players)
    cells = layout.height * layout.width
    random = draw(st.randoms(use_true_random=False))
    flat = [random.choice((BLOCKED, random.randint(0, layout.num_players))) for _ in range(cells)]
    history = [flat]
    land = [k for k in range(cells) if flat[k] != BLOCKED]
    for _ in range(draw(st.integers(0, 5))):
        flat = flat.copy()
        changed = draw(st.lists(st.tuples(st.sampled_from(land), codes), max_size=2 * cells // 16))
        for k, code in changed:
            flat[k] = code
        history.append(flat)
    return layout, [[flat[k : k + layout.width] for k in range(0, cells, layout.width)] for flat in history]
