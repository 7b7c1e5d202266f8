"""Two people in one game, each in a browser of their own, from the lobby to the end and once more."""

import json

import pytest

from territorial.replay import Replay
from tests.browser.chromium import PHONE, leave, soon
from tests.browser.support import pass_tick, text_of
from tests.browser.test_start import CARD, by_mouse, by_touch, command

pytestmark = pytest.mark.browser


def test_two_people_play_from_the_lobby_to_the_end_and_once_more(open_page, tmp_path):
    with command(tmp_path, "--people", "2", "--pace", "step", "--json", "told.json"):
        urls = json.loads((tmp_path / "told.json").read_text())["urls"]
        host, guest = open_page(urls[0]), open_page(urls[1], **PHONE)
        for tab in (host, guest):
            soon(tab, CARD)
        guest.fill("#start [name=name]", "Bob")
        by_touch(guest, "#start [type=submit]")
        soon(host, "document.querySelector('#start .people').textContent.endsWith('Bobready')")
        host.fill("#start [name=name]", "Ada")
        with host.expect_event("load"), guest.expect_event("load"):
            by_mouse(host, "#ready")  # now all are

        for tab, seat in ((host, 1), (guest, 2)):
            soon(tab, "page.game?.now && page.painter && document.querySelector('#me b').textContent")
            assert tab.evaluate("[page.game.now.seat, page.film.header.names]") == [seat, ["Ada", "Bob"]]
        assert guest.evaluate("element('pace').disabled")
        host.keyboard.press("n")
        soon(host, "element('others').textContent === 'Waiting for Bob.'")
        pass_tick(guest, lambda: by_touch(guest, "#send"))
        soon(host, "page.film.lastTick === 10")
        by_touch(guest, "#pause")
        soon(host, "element('others').textContent === 'Bob asks for a pause. Press pause to agree.'")
        host.keyboard.press("Space")
        soon(guest, "page.game.now.is_paused")
        by_touch(guest, "#pause")
        soon(host, "!page.game.now.is_paused")

        leave(guest)
        soon(host, "element('others').textContent === 'Bob has left, and may come back.'")
        pass_tick(host, lambda: host.keyboard.press("h"))
        guest = open_page(urls[1], **PHONE)
        soon(guest, "page.game?.now && page.painter && page.game.now.tick === 20")
        soon(host, "!element('others').textContent")
        host.evaluate("page.game.setPace(1000)")
        for tab in (host, guest):
            soon(tab, "page.film.isComplete && element('ending').open")
        saved = Replay.load(text_of(host, "#ending code"))
        assert guest.evaluate("document.querySelector('#ending .replay').hidden")  # it is not on that phone
        by_touch(guest, "#ending [value=same]")
        soon(guest, "element('start').open")
        by_mouse(host, "#ending [value=same]")
        with guest.expect_event("load"):
            by_mouse(host, "#start [type=submit]")
        soon(guest, "page.film.header?.title.endsWith(', game 3')")
        for tab in (host, guest):
            leave(tab)
    assert (saved.names, saved.is_over) == (("Ada", "Bob"), True)
    assert saved.launches[:2, :3].tolist() == [[0, 1, 0], [0, 2, 0]]
