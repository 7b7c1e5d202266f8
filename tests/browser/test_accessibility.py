"""No serious finding of axe-core, the usual checker of accessibility, on the pages that watch and play."""

import pytest

from tests.browser import chromium
from tests.browser.chromium import soon
from tests.browser.games import full_game
from tests.browser.support import evaluate, settle

NAMELESS = """[...document.querySelectorAll("dialog, canvas")].filter((one) => !one.ariaLabel
    && !document.getElementById(one.getAttribute("aria-labelledby"))?.textContent
    && !(one.id === "ending" && !one.open)).map((one) => one.outerHTML.slice(0, 60))"""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def axe():
    return pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-core is not installed: the extra `browser` has it",
    ).Axe()


@pytest.fixture(params=[pytest.param("desktop", marks=pytest.mark.quick), "phone"])
def device(request):
    """The window of a device."""
    return chromium.PHONE if request.param == "phone" else {}


def grave_findings(tab, axe, moment):
    """What axe finds serious or critical, in both themes: moment, theme, rule, and where and why.

    And the dialogs and canvases without a name, which it does not ask for.
    """
    found = [(moment, "both", "no name", html) for html in tab.evaluate(NAMELESS)]
    for theme in ("light", "dark"):
        settle(tab, f"page.setTheme('{theme}')")
        answer = axe.run(tab).response
        assert "button-name" in {rule["id"] for rule in answer["passes"]}  # it has looked at something
        found += [
            (moment, theme, finding["id"], node["target"], node["failureSummary"])
            for finding in answer["violations"]
            if finding["impact"] in ("serious", "critical")
            for node in finding["nodes"]
        ]
    return found


def shown(findings):
    """Findings as text, a line each."""
    return "\n".join(" | ".join(map(str, finding)).replace("\n", " ") for finding in findings)


def test_axe_finds_what_is_wrong(small, axe):
    small.evaluate(
        "element('help').style.color = 'var(--line)', "
        "['aria-label', 'title'].forEach((name) => element('back').removeAttribute(name))"
    )
    assert {(theme, rule) for _, theme, rule, *_ in grave_findings(small, axe, "start")} == {
        (theme, rule) for theme in ("light", "dark") for rule in ("button-name", "color-contrast")
    }


def test_watching_has_no_grave_finding(show, axe, device):
    tab, found = show(full_game()[1], **device), []
    for moment, script in {
        "start": "page.seek(0)",
        "middle": "page.seek(1500)",
        "following": "page.follow(7)",
        "end": "page.seek(page.film.lastTick)",
        "manual": "element('manual').showModal()",
    }.items():
        settle(tab, script)
        found += grave_findings(tab, axe, moment)
    assert found == [], shown(found)


def test_playing_has_no_grave_finding(play, axe, device):
    tab, _ = play(device, advisor="upstart-1")
    found = grave_findings(tab, axe, "start")
    for _ in range(8):
        tick = tab.evaluate("page.game.now.tick")
        evaluate(
            tab,
            "page.game.whyNot(0) ? page.game.hold() : page.game.attack(0)",
            until=f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick",
        )
    settle(tab)
    found += grave_findings(tab, axe, "middle")
    for panel in ("advice", "agent_view"):
        settle(tab, f"page.game.toggle('{panel}')")
        soon(tab, f"!element('{panel}').hidden")
        found += grave_findings(tab, axe, panel)
    for dialog in ("rules", "resigning"):
        settle(tab, f"element('{dialog}').showModal()")
        found += grave_findings(tab, axe, dialog)
        tab.evaluate(f"element('{dialog}').close()")
    # the bots play on at once
    evaluate(tab, "page.game.resign()", until="element('ending').open && page.film.isComplete")
    settle(tab)
    found += grave_findings(tab, axe, "end card")
    settle(tab, "element('ending').close()")
    found += grave_findings(tab, axe, "after the end")
    assert found == [], shown(found)
