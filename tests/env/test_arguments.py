"""What environments say of arguments that they do not know, and actions in arrays of size 1."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import territorial
from territorial._registration import ENV_ID
from territorial.envs.gymnasium import SeatEnv, SeatVectorEnv
from tests.env.support import OBS_AND_FORMATS, SLEEPER, SMALL, small_env

MAKERS = {
    "parallel_env": territorial.parallel_env,
    "env": territorial.env,
    "make_vec": lambda **keywords: territorial.make_vec(2, **keywords),
    "SeatEnv": SeatEnv,
    "SeatVectorEnv": lambda **keywords: SeatVectorEnv(4, **keywords),
    "gymnasium.make": lambda **keywords: gymnasium.make(ENV_ID, **keywords),
    "gymnasium.make_vec": lambda **keywords: gymnasium.make_vec(ENV_ID, num_envs=4, **keywords),
}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")  # of a half-made environment
@pytest.mark.parametrize(
    ("make", "keyword", "meant"),
    [
        *((make, "frameskip", "frames") for make in MAKERS.values()),
        (territorial.parallel_env, "hieght", "height"),
        (territorial.parallel_env, "action_masks", "action_mask"),
    ],
)
def test_an_unknown_keyword_is_what_python_raises_with_the_name_that_was_meant(make, keyword, meant):
    text = rf"got an unexpected keyword argument '{keyword}' \(did you mean '{meant}'\?\)"
    with pytest.raises(TypeError, match=text):
        make(**SMALL, **{keyword: 4})


@pytest.mark.parametrize(
    "made", [territorial.VecGame, territorial.TerritorialVec, territorial.TerritorialEnv]
)
def test_classes_say_which_keyword_was_meant(made):
    text = (
        rf"{made.__name__}.__init__\(\) got an unexpected keyword argument 'seat' \(did you mean 'seats'\?\)"
    )
    with pytest.raises(TypeError, match=text):
        made(config=territorial.GameConfig(**SMALL), seat=["agent"])


REFUSED = [
    ({"obs": "raw"}, "obs is 'raw'; it must be one of packed, features, pooled, onehot"),
    ({"frames": 0}, "frames is 0; it must be a whole number from 1 to 16"),
    ({"frames": 17, "obs": "features"}, "frames is 17; it must be a whole number from 1 to 16"),
    ({"frames": 0, "obs": "onehot"}, "frames is 0; it must be a whole number from 1 to 16"),
    ({"frames": True}, "frames is True; it must be a whole number from 1 to 16"),
    ({"pool_factor": 2.5}, "pool_factor is 2.5; it must be a whole number from 1 to 1024"),
    (
        {"pool_factor": 8},
        "pool_factor is 8 and obs is 'packed'; this option works only with obs = 'pooled'",
    ),
    ({"pool_factor": 0, "obs": "pooled"}, "pool_factor is 0; it must be a whole number from 1 to 1024"),
    (
        {"zero_copy": True, "obs": "features"},
        "zero_copy is True and obs is 'features'; this option works only with obs = 'packed'",
    ),
    ({"agent_death": "stay"}, "agent_death is 'stay'; it must be one of remove, keep"),
    ({"action_mask": True}, "action_mask is True; it must be one of obs, info, none"),
    ({"action_format": "box"}, "action_format is 'box'; it must be one of discrete, multi_discrete"),
    ({"end_when": "never"}, "end_when is 'never'; it must be one of game, no_agents"),
    (
        {"render_mode": "rgb"},
        "render_mode is 'rgb'; it must be one of ansi, human, rgb_array",
    ),
    ({"max_cycles": 0}, "max_cycles is 0; it must be a whole number of at least 1"),
    ({"max_cycles": 2.5}, "max_cycles is 2.5; it must be a whole number of at least 1"),
    ({"seats": ("agent",) * 3}, "seats has 3 entries"),
    ({"seats": ("agent", "nobody", "agent", "agent")}, "'nobody'"),
    ({"seats": ("agent", "external", "agent", "agent")}, r"seats\[1\] is 'external'"),
    ({"seats": ("random",) * 4}, "no seat is called 'agent'"),
    ({"num_players": 1}, "num_players is 1; it must be a whole number from 2"),
    ({"config": "big"}, "config is 'big'"),
    (
        {"obs_key": "observations"},
        "obs_key is 'observations' and obs is 'packed'; this option works only",
    ),
    (
        {"obs": "features", "obs_key": "obs"},
        "obs_key is 'obs'; it must be one of observation, observations",
    ),
    ({"zero_copy": 1}, "zero_copy is 1; it must be True or False"),
    ({"launches": "yes"}, "launches is 'yes'; it must be"),
    *(
        ({"repeat": bad}, "repeat is .*; it must be a whole number of at least 1")
        for bad in (0, 1.5, True, "2")
    ),
    ({"obs": "feature"}, r"obs is 'feature' \(did you mean 'features'\?\); it must be one of packed,"),
    ({"map": "lake"}, r"map is 'lake' \(did you mean 'lakes'\?\); it must be one of open, lakes"),
    ({"map": "islands:cuont=3"}, r"has no option 'cuont' \(did you mean 'count'\?\); it has count"),
    ({"seats": ["agent", "bankr"] * 2}, r"seats\[1\] is 'bankr' \(did you mean 'banker'\?\); it must be"),
    (
        {"rewards": {"lnad": 1}},
        r"a part of rewards is 'lnad' \(did you mean 'land'\?\); it must be one of land",
    ),
]
REFUSED_BY_VECTORS = [
    ({"maps": ["lakes"] * 2}, "maps is 2 maps; it must be one map for each of the 3 games"),
    ({"maps": "lakes"}, "maps is 'lakes'; it must be one map for each"),
    ({"maps": ["lakes", "open", "lakes + open"]}, "maps has the mix 'lakes [+] open'"),
    ({"maps": ["lakes"] * 3, "num_maps": 4}, "num_maps is 4; it must be 1 when maps has"),
    ({"maps": ["lakes", "swamp", "open"]}, "map is 'swamp'"),
    ({"render_mode": "film"}, "render_mode is 'film'"),
    ({"autoreset": "later"}, "autoreset is 'later'; it must be one of same_step, next_step, disabled"),
    ({"obs": "raw"}, "obs is 'raw'"),
    ({"num_envs": 0}, "num_envs is 0"),
    ({"seats": "agent"}, "seats is 'agent'; it must be a sequence"),
    ({"num_allies": 2, "obs": "pairs"}, "num_allies is 2; it must be 0 or None, as these games have no"),
    (
        {"teams": 2, "num_allies": 2},
        "num_allies is 2 and obs is 'features'; this option works only",
    ),
    (
        {"teams": 2, "num_allies": -1, "obs": "pairs"},
        "num_allies is -1; it must be a whole number from 0 to 250",
    ),
    ({"num_candidates": 4}, "num_candidates is 4 and obs is 'features'; this option works only"),
    (
        {"num_candidates": 0, "obs": "pairs"},
        "num_candidates is 0; it must be a whole number from 1 to 250",
    ),
    *(({"seats": seats}, "seats") for seats in (5, [5, "agent"], [], [[]] * 2, {"agent"})),
    *(({"repeat": bad}, "repeat is .*; it must be a whole number of at least 1") for bad in (0, 1.5)),
]


def small_vec(num_envs=3, **changes):
    return territorial.make_vec(num_envs, **(SMALL | {"obs": "features"} | changes))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        *((small_env, arguments, message) for arguments, message in REFUSED),
        *((small_vec, arguments, message) for arguments, message in REFUSED_BY_VECTORS),
        (
            SeatEnv,
            SMALL | {"seats": ["agent", "novice"] * 2},
            "seats has 2 agents; SeatEnv needs exactly one",
        ),
        (
            SeatVectorEnv,
            SMALL | {"num_envs": 6},
            "num_envs is 6; it must be a multiple of 4, the agents of a",
        ),
    ],
)
def test_bad_arguments_are_errors_that_name_them(make, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(**arguments)


@pytest.mark.parametrize(("obs", "action_format"), OBS_AND_FORMATS)
def test_spaces_say_what_they_are_in_a_few_hundred_characters(obs, action_format):
    sizes = {"height": 32, "width": 32, "num_players": 30, "map": "open", "frames": 1}
    options = {"obs": obs, "action_format": action_format}
    env = territorial.parallel_env(**sizes, **options)
    one = territorial.make_vec(2, **sizes, **options)
    shown = [env.observation_space("player_0"), env.action_space("player_0"), env.state_space]
    shown += [one.single_observation_space, one.single_action_space]
    for space in shown:
        for twin in (space, copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
            assert len(repr(twin)) < 600, repr(twin)
            assert twin == space


FORMS = {
    "make_vec": (lambda: territorial.make_vec(2, **SMALL), (2, 4)),
    "SeatEnv": (lambda: SeatEnv(**SMALL), ()),
    "SeatVectorEnv": (lambda: SeatVectorEnv(4, **SMALL), (4,)),
}


@pytest.mark.parametrize(("make", "shape"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("action", [np.array([3]), np.array(3), np.int8(3), np.array([[3]])], ids=repr)
def test_an_action_may_be_an_array_of_size_one(action, make, shape):
    digests = set()
    for given in (action, 3):
        env = make()
        env.reset(seed=5)
        env.step(np.broadcast_to(given, (*shape, *np.shape(given))) if shape else given)
        digests.add(getattr(env, "vec", env).game.digest(0))
    assert len(digests) == 1


def test_a_bot_in_python_may_sit_on_the_first_seat():
    seats = [SLEEPER, "agent", "novice", "novice"]
    for made in (
        territorial.make_vec(2, seats=seats, **SMALL),
        territorial.make_vec(2, seats=[seats, [SLEEPER, "novice", SLEEPER, "agent"]], **SMALL),
        SeatEnv(seats=seats, **SMALL).vec,
        gymnasium.make(ENV_ID, seats=seats, **SMALL).unwrapped.vec,
        SeatVectorEnv(2, seats=tuple(seats), **SMALL).vec,
        territorial.make_vec(2, seats=np.array(seats, object), **SMALL),
    ):
        made.reset(seed=0)
        made.step(np.zeros((made.num_envs, 1), int))
        assert (made.game.seats_of(0), made.num_agents) == (("sleeper", "agent", "novice-1", "novice-1"), 1)
