"""The built-in rule-based bots as data, in the order of seat codes.

To add one, add an entry at the end: a name with version 1, or the next version of a name there is.
Entries are never changed or removed, so that results stay meaningful. What no entry can say is a new
condition or measure in territorial.bots.targets, or a bot in Python (territorial.bots.python).
"""

from dataclasses import replace
from types import MappingProxyType

from territorial.bots.settings import AS_FREE
from territorial.bots.style import FreeLand, Gift, Move, Style
from territorial.bots.targets import (
    BY_ATTACK,
    BY_BORDER,
    BY_DECLINE,
    BY_DENSITY,
    BY_DISTANCE,
    BY_FORCE,
    BY_GRUDGE,
    BY_LEAST_LAND,
    BY_MOST_LAND,
    HATED,
    KILLABLE,
    NO_HUNTER,
    NOT_LEADER,
    NOT_YET,
    SHRUNK,
    SWARMED,
    THIN,
    WEAK_LEADER,
    WEAKER_ATTACKER,
)

STYLES: tuple[Style, ...] = (
    Style(
        name="random-1",
        idea="any legal launch, as likely as any other; holds nine times in ten",
        weakness="Attack it: it ignores its neighbours, and wastes its troops on all sides.",
        interval=1,
        at_random=True,
        jitter=0,
    ),
    Style(
        name="novice-1",
        idea="sends nearly everything, at free land or else at the nearest, and keeps next to nothing",
        weakness="Strike right after it has sent.",
        interval=100,
        free=FreeLand(send=98),
        second=Move(by=BY_DISTANCE, send=98),
        jitter=0,
    ),
    Style(
        name="metronome-1",
        idea="strikes as often as income comes, first at free land, then at the weakest neighbour",
        weakness="Look stronger than its other neighbours, and strike when its troops are in the field.",
        interval=100,
        opening=600,
        free=FreeLand(send=40, later=10, surplus=100),
        second=Move(by=BY_FORCE, send=40, later=10, surplus=100, reserve=60),
        jitter=0,
    ),
    Style(
        name="banker-1",
        idea="grows on small launches, saves up, and spends all above 70 a cell on the thinnest defence",
        weakness="Attack while it saves; it never answers, and only looks at densities.",
        interval=100,
        opening=300,
        free=FreeLand(send=8, later=12, waits=True),
        second=Move(by=BY_DENSITY, from_=95, reserve=70),
        jitter=0,
    ),
    Style(
        name="turtle-1",
        idea="takes free land in small bites and stays home; hits back, and spends only what would rot",
        weakness="Hit it with several others at once, or while it answers another player.",
        interval=70,
        first=Move(only=WEAKER_ATTACKER, by=BY_ATTACK, send=50, reserve=80),
        free=FreeLand(send=10),
        second=Move(by=BY_DENSITY, from_=120, reserve=100),
        jitter=0,
    ),
    Style(
        name="very_easy-1",
        idea="a level: sends nearly everything every 104 ticks, at free land or else at the nearest",
        weakness="Strike right after it has sent: next to nothing is left at home.",
        interval=104,
        free=FreeLand(send=98, tops_up=False),
        second=Move(only=NOT_YET, by=BY_DISTANCE, send=98),
        jitter=0,
        start=1.6,
    ),
    Style(
        name="easy-1",
        idea="a level: sends nearly everything, 98 % at first and 92 % in the end",
        weakness="Strike right after it has sent.",
        interval=110,
        fall=0.3,
        free=FreeLand(send=98, later=92, tops_up=False),
        second=Move(only=NOT_YET, by=BY_DISTANCE, send=98, later=92),
        jitter=0,
        start=3.1,
    ),
    Style(
        name="normal-1",
        idea="a level: sends four fifths, and now and then at its weakest neighbour instead of the nearest",
        weakness="Strike right after it has sent: at most a quarter of its troops defends all of its land.",
        interval=104,
        fall=0.3,
        free=FreeLand(send=82.5, later=75, tops_up=False),
        second=Move(only=NOT_YET, by=BY_FORCE, else_by=BY_DISTANCE, by_percent=5, send=82.5, later=75),
        jitter=0,
        start=12.5,
    ),
    Style(
        name="hard-1",
        idea="a level: sends half, or all above 100 a cell if that is more, no more than needed at the weak",
        weakness="It mostly attacks the nearest, however strong: let it break on you, then answer.",
        interval=100,
        free=FreeLand(send=50, surplus=100, tops_up=False),
        second=Move(
            only=NOT_YET, by=BY_FORCE, else_by=BY_DISTANCE, by_percent=25, send=50, surplus=100, spares=True
        ),
        jitter=0,
        start=25,
    ),
    Style(
        name="very_hard-1",
        idea="a level: sends three to five tenths, less and less, half of the time at its weakest neighbour",
        weakness="Be neither the nearest nor the weakest, and take it while it fights another player.",
        interval=(50, 175),
        fall=0.2,
        free=FreeLand(send=(30, 50), later=(10, 30), surplus=100, tops_up=False),
        second=Move(
            only=NOT_YET,
            by=BY_FORCE,
            else_by=BY_DISTANCE,
            by_percent=50,
            send=AS_FREE,
            surplus=100,
            spares=True,
        ),
        jitter=0,
        start=50,
    ),
    Style(
        name="impossible-1",
        idea="a level: sends three to five tenths, less and less, always at its weakest neighbour",
        weakness="Look stronger than its other neighbours; it keeps no reserve against two at once.",
        interval=100,
        fall=0.8,
        free=FreeLand(send=(30, 50), later=(5, 15), surplus=100, tops_up=False),
        second=Move(only=NOT_YET, by=BY_FORCE, send=AS_FREE, surplus=100, spares=True),
        jitter=0,
    ),
    Style(
        name="sprinter-1",
        idea="expands whenever it has no troops on free land; else, half full, hits the thinnest defence",
        weakness="It never has many troops a cell: save up, and hit it in the middle of the game.",
        interval=100,
        free=FreeLand(send=20, tops_up=False),
        second=Move(by=BY_DENSITY, from_=60, send=40, reserve=30),
    ),
    Style(
        name="vulture-1",
        idea="waits for a neighbour that is thin, or under heavy attack, and that it can finish",
        weakness="Keep a third of its troops a cell: it spares players that are neither thin nor attacked.",
        interval=50,
        free=FreeLand(send=12, after_second=True),
        first=Move(only=THIN | KILLABLE, limit=25, by=BY_DENSITY, kill=120, reserve=50),
        second=Move(only=SWARMED | KILLABLE, limit=50, by=BY_DENSITY, kill=120, reserve=50),
    ),
    Style(
        name="finisher-1",
        idea="attacks those that have lost more than half of their land; else, once rich, for the weakest",
        weakness="Keep half of the most land that you had, and let others be its weakest neighbour.",
        interval=60,
        free=FreeLand(send=12),
        first=Move(only=SHRUNK, limit=45, by=BY_DECLINE, kill=120, reserve=60),
        second=Move(by=BY_FORCE, from_=90, send=30, reserve=60),
    ),
    Style(
        name="full_sender-1",
        idea="sends everything at the largest neighbour it can kill, and has nothing left at home",
        weakness="Be too dear to kill, and attack while its troops are away: nothing defends its land then.",
        interval=100,
        free=FreeLand(send=30, tops_up=False),
        second=Move(only=KILLABLE, by=BY_MOST_LAND, reserve=0),
    ),
    Style(
        name="avenger-1",
        idea="strikes back at who took most of its land until it forgives; once rich, at the weakest",
        weakness="Let others take more: it hates the worst only, and forgives an eighth at every decision.",
        interval=50,
        free=FreeLand(send=12),
        first=Move(only=HATED, limit=20, by=BY_GRUDGE, send=40, reserve=40),
        second=Move(by=BY_FORCE, from_=95, send=30, reserve=40),
        forgives=8,
    ),
    Style(
        name="geographer-1",
        idea="straightens its borders: attacks the neighbour it borders most for its size",
        weakness="Stay round, and touch it little: it does not look at troops.",
        interval=80,
        free=FreeLand(send=12),
        second=Move(by=BY_BORDER, from_=90, send=30, reserve=60),
    ),
    Style(
        name="bully-1",
        idea="picks on the smallest, however strong",
        weakness="Be larger than its other neighbours: it does not see the large grow.",
        interval=70,
        free=FreeLand(send=15),
        second=Move(by=BY_LEAST_LAND, from_=60, send=30, reserve=30),
    ),
    Style(
        name="leader_hunter-1",
        idea="attacks the leader if attacked or poor; once rich, others that do not attack the leader",
        weakness="Attack the leader: it never attacks those that do, unless it leads itself.",
        interval=60,
        free=FreeLand(send=12),
        first=Move(only=WEAK_LEADER, limit=70, send=30, reserve=60),
        second=Move(only=NO_HUNTER | NOT_LEADER, by=BY_DENSITY, from_=95, send=30, reserve=60),
        leader_share=15,
    ),
    Style(
        name="drip-1",
        idea="sends a trickle every 10 ticks, at players from 50 a cell: a shield, and a tax each time",
        weakness="Save up: every launch costs it a hundredth of its troops, and it makes up to ten for one.",
        interval=10,
        free=FreeLand(send=4),
        second=Move(by=BY_DENSITY, send=4, reserve=50),
    ),
    Style(
        name="settler-1",
        idea="opens slowly, then takes free land with two fifths at a time, and spends only what would rot",
        weakness="Attack it: it never answers, and goes for the thinnest defence wherever that is.",
        interval=100,
        opening=200,
        free=FreeLand(send=10, later=40, tops_up=False),
        second=Move(by=BY_DENSITY, from_=120, kill=150, reserve=110),
    ),
    Style(
        name="besieger-1",
        idea="grinds down the weakest neighbour, turtles too: a bite whenever it has 120 a cell",
        weakness="Grow faster in the opening, and let others be its weakest neighbour.",
        interval=50,
        opening=200,
        free=FreeLand(send=10, later=30, surplus=100, tops_up=False),
        second=Move(by=BY_FORCE, from_=120, send=30, reserve=100),
    ),
    Style(
        name="opportunist-1",
        idea="opens fast, takes players that are thin and can be finished, and else spends what would rot",
        weakness="Keep two thirds of its troops a cell, and let others be thinner: the rest goes to them.",
        interval=100,
        opening=900,
        free=FreeLand(send=25, later=15, tops_up=False),
        first=Move(only=THIN | KILLABLE, limit=50, by=BY_LEAST_LAND, kill=120, reserve=100),
        second=Move(by=BY_DENSITY, from_=125, reserve=100),
    ),
)


def _giver(name: str, model: str, gives: Gift, idea: str, weakness: str) -> Style:
    (style,) = (style for style in STYLES if style.name == model)
    return replace(style, name=name, gives=gives, idea=idea, weakness=weakness)


GIVERS = MappingProxyType(
    {
        style.name: style
        for style in (
            _giver(
                "warden-1",
                "finisher-1",
                Gift(limit=25, from_=110),
                "a finisher that, once rich, gives an eighth to the ally that is most under attack",
                "Attack several of its allies at once, or itself: it helps one at a time.",
            ),
            _giver(
                "medic-1",
                "geographer-1",
                Gift(limit=25, from_=110),
                "a geographer that, once rich, gives an eighth to the ally that is most under attack",
                "Attack it before it is rich, or its ally with less than a quarter of the ally's troops.",
            ),
        )
    }
)
"""All givers by name, with their versions: styles for games with teams, which give to allies under attack.

Each plays as the bot that it is made of where no ally needs help, and in all games without teams. So they are
not among the bots that fields are drawn from.
"""

GIVERS_ALIASES = MappingProxyType({name.rpartition("-")[0]: name for name in GIVERS})
"""The newest version of each giver by its plain name."""
