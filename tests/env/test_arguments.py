"""What environments say of arguments that they do not know, and actions in arrays of size 1."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import territorial
from territorial._registration import ENV_ID
from territorial.envs.gymnasium import SeatEnv, SeatVectorEnv
from tests.env.support import OBS_AND_FORMATS, SMALL, Sleeper, small_env

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


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"obs": "feature"}, r"obs is 'feature' \(did you mean 'features'\?\); it must be one of packed,"),
        ({"map": "lake"}, r"map is 'lake' \(did you mean 'lakes'\?\); it must be one of open, lakes"),
        ({"map": "islands:cuont=3"}, r"has no option 'cuont' \(did you mean 'count'\?\); it has count"),
        ({"seats": ["agent", "bankr"] * 2}, r"seats\[1\] is 'bankr' \(did you mean 'banker'\?\); it must be"),
        (
            {"rewards": {"lnad": 1}},
            r"a part of rewards is 'lnad' \(did you mean 'land'\?\); it must be one of land",
        ),
    ],
)
def test_a_name_that_is_nearly_right_brings_up_the_right_one(keywords, message):
    with pytest.raises(ValueError, match=message):
        small_env(**keywords)


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("action", [np.array([3]), np.array(3), np.int8(3), np.array([[3]])], ids=repr)
def test_an_action_may_be_an_array_of_size_one(action, form):
    make, shape = FORMS[form]
    digests = set()
    for given in (action, 3):
        env = make()
        env.reset(seed=5)
        env.step(np.broadcast_to(given, (*shape, *np.shape(given))) if shape else given)
        digests.add(getattr(env, "vec", env).game.digest(0))
    assert len(digests) == 1


def test_a_bot_in_python_may_sit_on_the_first_seat():
    bot = Sleeper()
    seats = [bot, "agent", "novice", "novice"]
    for made in (
        territorial.make_vec(2, seats=seats, **SMALL),
        territorial.make_vec(2, seats=[seats, [bot, "novice", bot, "agent"]], **SMALL),
        SeatEnv(seats=seats, **SMALL).vec,
        gymnasium.make(ENV_ID, seats=seats, **SMALL).unwrapped.vec,
        SeatVectorEnv(2, seats=tuple(seats), **SMALL).vec,
        territorial.make_vec(2, seats=np.array(seats, object), **SMALL),
    ):
        made.reset(seed=0)
        made.step(np.zeros((made.num_envs, 1), int))
        assert (made.game.seats_of(0), made.num_agents) == (("sleeper", "agent", "novice-1", "novice-1"), 1)


@pytest.mark.parametrize("seats", [5, "agent", [5, "agent"], [], [[]] * 2, {"agent"}])
def test_seats_that_are_none_are_errors_that_name_them(seats):
    with pytest.raises((TypeError, ValueError), match="seats"):
        territorial.make_vec(2, seats=seats, **SMALL)
