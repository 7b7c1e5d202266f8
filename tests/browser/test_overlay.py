"""Names, troops and attacks over the board, what the pointer tells of them, and the board as a picture."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

import territorial
from territorial.render import owner_colors
from tests.browser.chromium import soon
from tests.browser.games import FULL_SEATS, film_of, frames_of, full_game
from tests.browser.support import box_of, middle_of, place_of, press, settle, stop_clock, text_of
from tests.play.sessions import wait_for
from tests.replay.support import recorded_game

pytestmark = pytest.mark.browser

FIND = """(() => {
    const found = new LabelPlaces().find(page.board, page.painter.width, page.view.seen);
    return found.map(({ owner, row, column, height, width }) => [owner, row, column, height, width]);
})()"""


def ink(tab):
    """How many bytes of the picture are not those of the board alone."""
    return tab.evaluate("""(() => {
        const { overlay } = page, { width, height } = element("cells");
        const [seen, bare] = [0, 1].map(() => new OffscreenCanvas(width, height).getContext("2d"));
        seen.drawImage(element("cells"), 0, 0);
        const { names, attacks } = page.layers;
        page.toggle("names", false), page.toggle("attacks", false), overlay.show(Infinity, page, 0);
        bare.drawImage(element("cells"), 0, 0);
        page.toggle("names", names), page.toggle("attacks", attacks);
        const [a, b] = [seen, bare].map((context) => context.getImageData(0, 0, width, height).data);
        return a.filter((byte, n) => byte !== b[n]).length;
    })()""")


@pytest.mark.parametrize("zooms", [0, 4])
def test_labels_stand_in_boxes_of_their_owners_cells_alone(full, zooms):
    frames, _ = full_game()
    for index in (0, 60, 150, 400, len(frames) - 1):
        owner = frames[index].owner
        settle(full, f"page.seek({frames[index].tick}), page.view.fit()")
        settle(full, f"for (let n = 0; n < {zooms}; n++) page.view.zoom(1.5)")
        seen, found = full.evaluate("page.view.seen"), full.evaluate(FIND)
        part = owner[seen["top"] : seen["bottom"], seen["left"] : seen["right"]]
        if zooms == 0:  # of every second column, where two columns of land are always found
            assert {code for code, *_ in found} == set(np.unique(owner)) - {0, 255}
        assert {code for code, *_ in found} <= set(np.unique(part).tolist())
        for code, row, column, height, width in found:
            up, left = row - height // 2, column - width // 2
            looked_at = owner[up : up + height, left : left + width : 2]
            assert looked_at.shape[0] == height
            assert (looked_at == code).all()


def test_a_label_has_the_most_room_there_is(full):
    """Compared with all boxes of two to one, tried one by one."""
    frames, _ = full_game()
    frame = frames[200]
    settle(full, f"page.seek({frame.tick})")
    for code, _, _, height, _ in full.evaluate(FIND):
        is_own, side = frame.owner[:, ::2] == code, 1
        while (np.lib.stride_tricks.sliding_window_view(is_own, (side, side)).all(axis=(2, 3))).any():
            side += 2
        assert height >= 0.6 * (side - 2)  # near the middle of the land counts, too


def test_names_and_arrows_are_drawn_and_can_be_switched_off(full):
    settle(full, "page.seek(1500)")
    both = ink(full)
    full.keyboard.press("b")
    settle(full)
    arrows = ink(full)
    full.keyboard.press("a")
    settle(full)
    assert ink(full) == 0
    assert full.evaluate("element('names').getAttribute('aria-pressed')") == "false"
    full.evaluate("element('names').click()")
    settle(full)
    names = ink(full)
    assert min(names, arrows) > 300
    assert max(names, arrows) < both <= names + arrows


def test_an_arrow_stands_on_its_front_and_points_at_the_target(full):
    frames, _ = full_game()
    seen = 0
    for index in (20, 90, 150, 260):
        owner = frames[index].owner
        settle(full, f"page.seek({frames[index].tick})")
        places = full.evaluate(
            "new FrontPlaces().find(page.board, 256, page.view.seen, page.film.attacks[page.frame])"
        )
        for place in places:
            row, column, down, right = (place[name] for name in ("row", "column", "down", "right"))
            assert np.hypot(down, right) == pytest.approx(1)
            around = owner[int(row - 1) : int(row + 1) + 1, int(column - 1) : int(column + 1) + 1]
            assert {place["attack"]["seat"], place["attack"]["target"]} <= set(around.ravel().tolist())
        seen += len(places)
        fronts = [attack for attack in frames[index].attacks.tolist() if beside(owner, *attack[:2])]
        found = {(place["attack"]["seat"], place["attack"]["target"]) for place in places}
        assert {(seat, target) for seat, target, _ in fronts} <= found
    assert seen > 10


def beside(owner, a, b):
    """Whether cells of two owners touch."""
    pairs = [(owner[:-1], owner[1:]), (owner[:, :-1], owner[:, 1:])]
    return any(((x == a) & (y == b) | (x == b) & (y == a)).any() for x, y in pairs)


def test_the_pointer_is_told_land_troops_front_and_attackers(full):
    frames, _ = full_game()
    index, (seat, target, troops) = next(
        (index, attack)
        for index, frame in enumerate(frames)
        for attack in frame.attacks.tolist()
        if attack[1] > 0 and attack[2] < 10_000 and len(frame.attacks) == 1
    )
    frame = frames[index]
    settle(full, f"page.seek({frame.tick})")
    named = {code: f"P{code} {FULL_SEATS[code - 1]}" for code in (seat, target)}
    full.mouse.move(*place_of(full, *middle_of(frame.owner, seat)))
    lines = soon(
        full, f"element('tip').textContent.startsWith({named[seat]!r}) && element('tip').textContent"
    )
    cells, whole = int(frame.land[seat - 1]), int((frame.owner != 255).sum())
    lines = lines.split("\n")
    assert lines[1] == f"land: {1000 * cells // whole / 10:.1f}%, {cells:,} cells"
    assert lines[2].endswith(f" at home, {troops} in the field")
    code, most = max(fronts_of(frame.owner, seat).items(), key=lambda item: (item[1], -item[0]))
    name = f"P{code} {FULL_SEATS[code - 1]}" if code else "free land"
    assert lines[3].startswith(f"front: {name} {most:,}")
    assert any(line.startswith("attacks: ") and f"{named[target]} with {troops}" in line for line in lines)
    full.mouse.move(*place_of(full, *middle_of(frame.owner, target)))
    lines = soon(
        full, f"element('tip').textContent.startsWith({named[target]!r}) && element('tip').textContent"
    ).split("\n")
    assert any(line.startswith("attacked by: ") and named[seat] in line for line in lines)


def fronts_of(owner, seat):
    """How many cells of each other owner touch those of ``seat``, by the definition in docs/rules.md."""
    own = np.pad(owner == seat, 1)
    is_beside = own[:-2, 1:-1] | own[2:, 1:-1] | own[1:-1, :-2] | own[1:-1, 2:]
    codes, counts = np.unique(owner[is_beside & (owner != seat) & (owner != 255)], return_counts=True)
    return dict(zip(codes.tolist(), counts.tolist(), strict=True))


def test_the_board_is_copied_as_a_picture(full):
    settle(full, "page.seek(1500), page.setTheme('light')")
    stop_clock(full)
    full.evaluate("""navigator.clipboard.write = async ([item]) => {
        const bytes = new Uint8Array(await (await item.getType("image/png")).arrayBuffer());
        window.taken = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    }; 0""")
    full.keyboard.press("c")
    data = base64.b64decode(soon(full, "window.taken"))
    soon(full, "element('status').textContent === 'The picture has been copied.'")
    with Image.open(io.BytesIO(data)) as picture:
        pixels = np.array(picture.convert("RGB"))
    size = full.evaluate("Math.round(page.painter.width * page.view.scale)")
    assert pixels.shape == pytest.approx((size + 26, size, 3), abs=1)
    color = full.evaluate("page.palette.texts[27]")  # who has most land
    is_leader = (pixels == [int(color[at : at + 2], 16) for at in (1, 3, 5)]).all(axis=2)
    share = is_leader.sum() / size**2 / (full_game()[0][150].owner == 27).mean()
    assert 0.8 < share <= 1.01  # but for borders and its label


def test_a_map_that_is_mostly_water_is_shown_where_its_land_is(show):
    land = np.zeros((96, 128), bool)
    land[30:62, 60:110] = True
    config = territorial.GameConfig(
        height=96, width=128, num_players=3, map=territorial.LandMask.from_array(land), max_ticks=200
    )
    tab = show(
        film_of(
            config.replace(map="open"),
            ("metronome", "banker", "novice"),
            frames_of(config, ("metronome", "banker", "novice")),
        )
    )
    settle(tab)
    assert tab.evaluate("page.view.area") == {"top": 29, "left": 59, "bottom": 63, "right": 111}
    (x, y), (right, bottom) = place_of(tab, 29, 59), place_of(tab, 62, 110)
    box = box_of(tab)
    assert box["left"] <= x < right <= box["right"]
    assert box["top"] <= y < bottom <= box["bottom"]
    assert max((right - x) / box["width"], (bottom - y) / box["height"]) > 0.9
    press(tab, "+", "w", until="page.view.isFitted")
    assert place_of(tab, 29, 59) == [x, y]
    assert text_of(tab, "#about").startswith("3 players")


def test_a_replay_plays_within_a_notebook(open_page, tmp_path):
    """Whose page is any that has the output in it."""
    _, replay = recorded_game(
        territorial.GameConfig(height=40, width=56, num_players=3, max_ticks=400),
        ["metronome", "banker", "turtle"],
        seed=1,
    )
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>before</p>{replay._repr_html_()}", "utf-8")
    tab = open_page((tmp_path / "notebook.html").as_uri())
    colors = {tuple(color) for color in owner_colors(3)[1:4].tolist()}

    def seen():
        with Image.open(io.BytesIO(tab.screenshot())) as picture:
            return {tuple(color) for _, color in picture.convert("RGB").getcolors(2**24)}

    wait_for(lambda: colors <= seen())
    assert len({request.url for request in tab.requests()}) == 1  # the notebook's own
