"""No serious finding of axe-core, the usual checker of accessibility, on the pages that watch and play."""

import json
from importlib import resources
from importlib.util import find_spec

import pytest

from territorial.render.web import page, write_page
from tests.browser import chromium
from tests.browser.games import full_game
from tests.browser.support import settle
from tests.browser.test_play_page import ready
from tests.play.sessions import served

AXE = "axe_playwright_python"
"""A package that holds axe-core; nothing else of it is used, so what it requires need not be there."""
GRAVE = ("serious", "critical")
DEVICES = {"desktop": (1280, 800), "phone": (390, 844)}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.find() is None, reason=f"none of {', '.join(chromium.NAMES)} is installed"),
    pytest.mark.skipif(find_spec(AXE) is None, reason="pip install --no-deps axe-playwright-python"),
]


@pytest.fixture(scope="module")
def axe():
    """axe-core as a script; the page's own content policy does not bind what the protocol evaluates."""
    return resources.files(AXE).joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(params=[pytest.param("desktop", marks=pytest.mark.quick), "phone"])
def device(request):
    """A function that gives a tab the screen of a device."""
    width, height = DEVICES[request.param]
    return lambda tab: (tab.touch if request.param == "phone" else tab.resize)(width, height)


def grave_findings(tab, axe, moment):
    """What axe finds serious or critical, in both themes: moment, theme, rule, and where and why."""
    found = []
    tab.evaluate(f"if (!window.axe) {{ {axe} }}; 0")
    for theme in ("light", "dark"):
        settle(tab, f"page.setTheme('{theme}')")
        answer = json.loads(tab.evaluate("axe.run().then((results) => JSON.stringify(results))"))
        assert "button-name" in {rule["id"] for rule in answer["passes"]}  # it has looked at something
        found += [
            (moment, theme, finding["id"], node["target"], node["failureSummary"])
            for finding in answer["violations"]
            if finding["impact"] in GRAVE
            for node in finding["nodes"]
        ]
    return found


def shown(findings):
    """Findings as text, a line each."""
    return "\n".join(" | ".join(map(str, finding)).replace("\n", " ") for finding in findings)


def test_axe_finds_what_is_wrong(small, axe):
    small.evaluate(
        "element('help').style.color = 'var(--line)', element('back').removeAttribute('aria-label')"
    )
    small.evaluate("element('back').removeAttribute('title')")
    found = grave_findings(small, axe, "start")
    assert {(theme, rule) for _, theme, rule, *_ in found} == {
        (theme, rule) for theme in ("light", "dark") for rule in ("button-name", "color-contrast")
    }


def test_watching_has_no_grave_finding(browser, axe, device, tmp_path):
    path = tmp_path / "game.html"
    write_page(path, full_game()[1])
    tab = browser.open(path.as_uri())
    device(tab)
    tab.wait_for("page.film.isComplete")
    tab.evaluate("page.play(false)")
    found = []
    for moment, script in {
        "start": "page.seek(0)",
        "middle": "page.seek(1500)",
        "following": "page.follow(7)",
        "end": "page.seek(page.film.lastTick)",
        "manual": "element('manual').showModal()",
    }.items():
        settle(tab, script)
        found += grave_findings(tab, axe, moment)
    tab.call("Page.close")
    assert found == [], shown(found)


def test_playing_has_no_grave_finding(browser, axe, device, tmp_path):
    with served(tmp_path / "game.replay", page(is_played=True), has_page=False, advisor="upstart-1") as game:
        tab = browser.open(game.server.url)
        device(tab)
        ready(tab)
        found = grave_findings(tab, axe, "start")
        for _ in range(8):
            tick = tab.evaluate("page.game.now.tick")
            tab.evaluate("page.game.whyNot(0) ? page.game.hold() : page.game.attack(0)")
            tab.wait_for(f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick")
        settle(tab)
        found += grave_findings(tab, axe, "middle")
        for panel in ("advice", "sight"):
            settle(tab, f"page.game.toggle('{panel}')")
            tab.wait_for(f"!element('{panel}').hidden")
            found += grave_findings(tab, axe, panel)
        for dialog in ("rules", "resigning"):
            settle(tab, f"element('{dialog}').showModal()")
            found += grave_findings(tab, axe, dialog)
            tab.evaluate(f"element('{dialog}').close()")
        tab.evaluate("page.game.setPace(1000), page.game.resign()")
        tab.wait_for("element('ending').open && page.film.isComplete")
        settle(tab)
        found += grave_findings(tab, axe, "end card")
        tab.evaluate("element('ending').close()")
        settle(tab)
        found += grave_findings(tab, axe, "after the end")
        tab.call("Page.close")
    assert found == [], shown(found)
