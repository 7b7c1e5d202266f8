"""Two people in one game, each in a browser of their own, from the lobby to the end and once more."""

import json

import pytest

from territorial.replay import Replay
from tests.browser.chromium import PHONE, leave, soon
from tests.browser.support import pass_tick, text_of
from tests.browser.test_start import by_mouse, by_touch, command

pytestmark = pytest.mark.browser


def test_two_people_play_from_the_lobby_to_the_end_and_once_more(open_page, tmp_path):
    with command(tmp_path, "--people", "3", "--num-players", "3", "--pace", "step", "--json", "told.json"):
        urls = json.loads((tmp_path / "told.json").read_text())["urls"]
        host, guest = open_page(urls[0]), open_page(urls[1], **PHONE)
        for tab, name in ((host, "Ada"), (guest, "Bob")):
            soon(tab, "page.game.now && !document.querySelector('#start fieldset').disabled")
            tab.fill("#start [name=name]", name)
        by_touch(guest, "#start [type=submit]")
        soon(host, "document.querySelector('.people').textContent.endsWith('Bobreadyperson 3not there')")
        with host.expect_event("load"), guest.expect_event("load"):
            by_mouse(host, "#ready")  # now all are who are there

        for tab, begun in ((host, "P1 Adafalse"), (guest, "P2 Bobtrue")):
            soon(tab, f"document.querySelector('#me b').textContent + element('pace').disabled === '{begun}'")
        for act, tab, told in (
            (lambda: host.keyboard.press("n"), host, "Waiting for Bob."),
            (lambda: pass_tick(guest, lambda: by_touch(guest, "#send")), host, ""),
            (lambda: by_touch(guest, "#pause"), host, "Bob asks for a pause. Press pause to agree."),
            (lambda: host.keyboard.press("Space"), guest, "Paused by all; anyone can go on."),
            (lambda: by_touch(guest, "#pause"), host, ""),
            (lambda: guest.goto("about:blank"), host, "Bob has left, and may come back."),
            (lambda: pass_tick(host, lambda: host.keyboard.press("h")) or guest.goto(urls[1]), host, ""),
            (lambda: host.evaluate("page.game.setPace(1000)"), host, ""),
        ):
            act()
            soon(tab, f"element('others').textContent === '{told}'")
        for tab in (host, guest):
            soon(tab, "page.film.isComplete && element('ending').open")
        replay = Replay.load(text_of(host, "#ending code"))
        assert (replay.names, replay.is_over) == (("Ada", "Bob", "very_easy"), True)

        by_mouse(host, "#ending [value=same]")
        soon(host, "element('start').open")
        with guest.expect_event("load"):
            by_mouse(host, "#start [type=submit]")
        for tab in (guest, host):
            soon(tab, "page.film?.header?.title.endsWith(', game 3')")
            leave(tab)
