"""Commands from pages: what is read, and what is refused with which reason."""

import json

import pytest

from territorial.play.commands import LARGEST_COMMAND, PlayerCommand, read_command


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('{"do": "launch", "target": 4, "share": 7}', PlayerCommand("launch", target=4, share=7)),
        ('{"share": 0, "target": 0, "do": "launch"}', PlayerCommand("launch")),
        ('{"do": "hold"}', PlayerCommand("hold")),
        ('{"do": "pause", "on": true}', PlayerCommand("pause", is_on=True)),
        ('{"do": "pause", "on": false}', PlayerCommand("pause")),
        ('{"do": "pace", "pace": 40}', PlayerCommand("pace", pace=40)),
        ('{"do": "pace", "pace": "step"}', PlayerCommand("pace")),
        ('{"do": "resign"}', PlayerCommand("resign")),
        ('{"do": "show", "panel": "advice", "on": true}', PlayerCommand("show", is_on=True, panel="advice")),
        ('{"do": "show", "panel": "sight", "on": false}', PlayerCommand("show", panel="sight")),
    ],
)
def test_what_a_command_says(text, command):
    assert read_command(text.encode()) == command


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("[]", "it must be a JSON object"),
        ("{}", "do is None; it must be one of launch, hold, pause, pace, resign, show"),
        ('{"do": ["hold"]}', "it must be one of launch"),
        ('{"do": "fly"}', "do is 'fly'"),
        ('{"do": "launch", "target": 4}', "the command launch has no 'share'"),
        ('{"do": "hold", "target": 4}', "the command hold has the field 'target'"),
        ('{"do": "launch", "target": 4, "share": 10}', "share is 10; it must be a whole number from 0 to 9"),
        ('{"do": "launch", "target": -1, "share": 0}', "target is -1; it must be a whole number"),
        ('{"do": "launch", "target": true, "share": 0}', "target is True; it must be a whole number"),
        ('{"do": "launch", "target": "4", "share": 0}', "target is '4'; it must be a whole number"),
        ('{"do": "launch", "target": 4.5, "share": 0}', "target is 4.5; it must be a whole number"),
        ('{"do": "pause", "on": 1}', "on is 1; it must be True or False"),
        ('{"do": "show", "panel": "all", "on": true}', "panel is 'all'; it must be one of advice, sight"),
        (
            '{"do": "show", "panel": ["sight"], "on": true}',
            "panel is ['sight'] (did you mean",
        ),
        ('{"do": "pace", "pace": 0}', "pace is 0; it must be a whole number from 1 to 1000"),
        ('{"do": "pace", "pace": 1001}', "pace is 1001"),
        ('{"do": "hold", "do": "resign"}', "occurs twice"),
        (json.dumps({"do": "hold" + " " * LARGEST_COMMAND}), "it must have at most 1,024"),
        ("[" * 10 + "]" * 10, "it must be a JSON object"),
    ],
)
def test_what_is_no_command_is_refused_with_the_reason(text, reason):
    with pytest.raises((TypeError, ValueError)) as error:
        read_command(text.encode())
    assert reason in str(error.value)
