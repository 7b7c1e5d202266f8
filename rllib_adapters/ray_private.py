"""The parts of Ray used here that Ray does not promise.

Private names that any module here reads, sets, calls or overrides are in :data:`PRIVATE`; docstrings of
methods that override one say which. What is imported by its public name is in :data:`UNDOCUMENTED`. One name
is not listed, as the oldest Ray lacks it: ``_env_runner_state_server``, see ``league/control.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import ray.rllib.core.learner.learner_group as groups
from ray.rllib.callbacks.utils import make_callback

READ_IN = ("2.55.1", "2.60.0")
"""The releases of Ray in which all entries were read: the oldest and the newest that are tested."""


class RayNames(NamedTuple):
    """Names of one owner, a module or a class of Ray.

    Args:
        owner: where they are.
        names: the names.
        without: what would break if they went.
        public: the public way to the same, if there is one.

    """

    owner: str
    names: tuple[str, ...]
    without: str
    public: str = "none"


RUNNER = "ray.rllib.env.multi_agent_env_runner.MultiAgentEnvRunner"
MODULE = "ray.rllib.core.rl_module.rl_module.RLModule"
LEARNER = "ray.rllib.core.learner.torch.torch_learner.TorchLearner"
CONFIG = "ray.rllib.algorithms.algorithm_config.AlgorithmConfig"
MANAGER = "ray.rllib.utils.actor_manager.FaultTolerantActorManager"
POLICY = "ray.rllib.policy.policy.Policy"
EPISODE = "ray.rllib.env.multi_agent_episode.MultiAgentEpisode"
AGENT_EPISODE = "ray.rllib.env.single_agent_episode.SingleAgentEpisode"

PRIVATE = (
    # ---- overridden ----
    RayNames(
        RUNNER,
        ("_sample", "_new_episode", "_increase_sampled_metrics", "_try_env_step"),
        "Runners would play agent by agent, ship the episodes of agents that do not train, not draw players "
        "before the first observation, and log four numbers of every agent in every step; and outcomes would "
        "lack rewards of agents that see nothing in a piece of an episode, which RLlib leaves out.",
        "sample(), with its metrics, its callback and what it makes of a configuration written again; for "
        "the second, the callback on_sample_end, which is the user's here; for the third, none",
    ),
    RayNames(
        MODULE,
        ("_forward", "_forward_exploration", "_forward_inference", "_forward_train"),
        "Modules would not act or learn. The batched runner calls the two that act by themselves: RLlib's "
        "own calls set the mode of every part of a module first, which takes longer than a small network.",
        "RLlib's manual has modules override them; forward_exploration() and forward_inference() call them",
    ),
    RayNames(
        LEARNER,
        ("_uncompiled_update",),
        "Several learners would wait without end where one of them got no rows of a module.",
    ),
    RayNames(
        LEARNER,
        ("_make_batch_if_necessary",),
        "IMPALA would learn from a batch with the frames of another one.",
    ),
    RayNames(
        "ray.rllib.algorithms.algorithm.Algorithm",
        ("_create_local_replay_buffer_if_necessary",),
        "DQN would have a buffer of RLlib's besides, whose trees take memory.",
    ),
    RayNames(
        POLICY,
        ("_get_dummy_batch_from_view_requirements", "_initialize_loss_from_dummy_batch", "_dummy_batch"),
        "Every policy of the old stack would keep a batch of 32 rows, which nothing reads.",
    ),
    # ---- read, set or called ----
    RayNames(
        RUNNER,
        ("_ongoing_episodes",),
        "New episodes of other environments would have no players, and snapshots that play be released.",
        "the callback on_episode_created, which is the user's; for the second, none",
    ),
    RayNames(
        RUNNER,
        ("_callbacks",),
        "Callbacks would not be called by the batched runner.",
    ),
    RayNames(
        RUNNER,
        ("_device",),
        "Rows would not be where the modules are.",
        "the device of a module's parameters; the pool has none",
    ),
    RayNames(
        RUNNER,
        ("_seed",),
        "Games would not be those of RLlib's runner with the same seed.",
        "config.seed and the runner's number, added up as RLlib does",
    ),
    RayNames(
        RUNNER,
        ("_needs_initial_reset",),
        "New games would not begin where RLlib asks for them, and the first reset would not be seeded.",
    ),
    RayNames(
        RUNNER,
        ("_weights_seq_no",),
        "IMPALA could not tell how old the weights are that rows were sampled with.",
        "get_state(), which copies all weights",
    ),
    RayNames(
        RUNNER,
        ("_log_env_steps", "_metrics_num_env_steps_sampled", "_log_episode_metrics"),
        "Lengths and returns of episodes would be missing in results, and steps in Ray's dashboard.",
        "metrics.log_dict(), with the names and windows of RLlib's written again",
    ),
    RayNames(
        LEARNER,
        ("_learner_connector",),
        "Connectors could not be put in the middle or at the end of RLlib's own, as advantages need them.",
        "config.learners(learner_connector=), which puts them before all of RLlib's",
    ),
    RayNames(
        LEARNER,
        ("_params", "_compute_off_policyness"),
        "The update of several learners, which is RLlib's with other gradients, could not be written.",
        "get_parameters(module), module by module; for the metric, none",
    ),
    RayNames(
        "ray.rllib.core.learner.learner.Learner",
        ("_weights_seq_no",),
        "A learner could not tell whether rows were sampled with its own weights, and would compute all "
        "values again; draws of rows would not be the same after a checkpoint; learners and runners would "
        "pass over the weights of an older one.",
        "get_state(), which copies all weights; for the last, none",
    ),
    RayNames(
        "ray.rllib.algorithms.impala.impala_learner.IMPALALearner",
        ("_learner_thread",),
        "With Ray 2.55.1, the thread of a stopped APPO would take a tenth of a processor for ever.",
        "Learner.shutdown(), from Ray 2.60 on",
    ),
    RayNames(
        CONFIG,
        ("_rl_module_spec",),
        "Settings of modules could not be changed in a frozen configuration.",
        "config.rl_module_spec, a copy in both releases",
    ),
    RayNames(
        CONFIG,
        ("_module_to_env_connector", "_env_to_module_connector", "_learner_connector"),
        "A connector that the batched runner, or DQN, does not run would be passed over in silence.",
    ),
    RayNames(
        "ray.rllib.utils.checkpoints.Checkpointable",
        ("_check_component",),
        "A league would be in states that were asked for without it.",
    ),
    RayNames(
        "ray.rllib.env.env_runner_group.EnvRunnerGroup",
        ("_worker_manager",),
        "A run whose memory is used up could not end its runners before it writes a checkpoint.",
        "env_runner_group.stop(), which waits for them",
    ),
    RayNames(
        "ray.rllib.core.learner.learner_group.LearnerGroup",
        ("_worker_manager",),
        "Several IMPALA learners would wait without end for a batch that one of them had no room for.",
    ),
    RayNames(
        "ray.rllib.core.learner.learner_group",
        ("_get_backend_config",),
        "Several learners could not share a GPU: RLlib lets them talk through NCCL, which refuses that.",
    ),
    RayNames(
        MANAGER,
        ("_remote_actor_states", "_max_remote_requests_in_flight_per_actor"),
        "As above: they say which learner has room.",
        "num_outstanding_async_reqs(), of all actors together",
    ),
    RayNames(
        EPISODE,
        ("_custom_data",),
        "A mapping function would fail while an episode is cut: RLlib calls it before there are such data.",
        "custom_data, which is missing then",
    ),
    RayNames(
        EPISODE,
        ("_len_lookback_buffers", "_start_time", "_last_step_time"),
        "RLlib could not go on with the pieces of an episode, or say how long they took.",
        "add_env_step() for every step, which takes most of the time of a sample",
    ),
    RayNames(
        AGENT_EPISODE,
        ("_last_added_infos", "_start_time", "_last_step_time"),
        "The same of an agent.",
        "add_env_step(), as above",
    ),
)
"""All private names: those that begin with an underscore."""

UNDOCUMENTED = (
    RayNames(
        "ray.rllib.callbacks.utils",
        ("make_callback",),
        "The batched runner would have to call methods and functions of the user's in RLlib's order itself.",
    ),
    RayNames(
        "ray.rllib.utils.spaces.space_utils",
        ("get_base_struct_from_space",),
        "The buffer of observations could not give the structure of its space.",
    ),
    RayNames(
        "ray.rllib.algorithms.algorithm_config",
        ("NOT_SERIALIZABLE",),
        "Settings that JSON does not have would need a mark of their own.",
    ),
    RayNames(
        "ray.rllib.core.rl_module.apis",
        ("TARGET_NETWORK_ACTION_DIST_INPUTS",),
        "APPO's loss would not find what a target network gave.",
        "the text, target_network_action_dist_inputs",
    ),
    RayNames(
        "ray.rllib.env.env_runner",
        ("NUM_ENV_STEP_FAILURES_LIFETIME",),
        "Results would not say how often games of the batched runner have failed.",
        "the text that results have",
    ),
    RayNames(
        "ray.rllib.core",
        ("COMPONENT_LEARNER", "COMPONENT_LEARNER_GROUP", "COMPONENT_RL_MODULE"),
        "Weights could not be told from the rest of a state.",
        "the texts that states have",
    ),
    RayNames(
        "ray.tune.result", ("TRIAL_INFO",), "Trials of Tune would have one store for all their leagues."
    ),
    RayNames(
        "ray.rllib.utils.metrics",
        (
            "EPISODE_MODULE_RETURN_MEAN",
            "NUM_AGENT_STEPS_SAMPLED",
            "NUM_AGENT_STEPS_SAMPLED_LIFETIME",
            "NUM_ENV_STEPS_SAMPLED",
            "NUM_ENV_STEPS_SAMPLED_LIFETIME",
            "NUM_EPISODES",
            "NUM_EPISODES_LIFETIME",
            "NUM_MODULE_STEPS_SAMPLED",
            "NUM_MODULE_STEPS_SAMPLED_LIFETIME",
            "RLMODULE_INFERENCE_TIMER",
            "WEIGHTS_SEQ_NO",
        ),
        "Algorithms would not find the counts that they go by.",
        "the texts that results have",
    ),
    RayNames(
        "ray.rllib.algorithms.ppo.ppo",
        (
            "LEARNER_RESULTS_KL_KEY",
            "LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY",
            "LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY",
        ),
        "Results would not have the parts of a loss with weights by the names that RLlib gives them.",
        "the texts that results have",
    ),
    RayNames(
        "ray.rllib.core.learner.learner",
        ("ENTROPY_KEY", "POLICY_LOSS_KEY", "VF_LOSS_KEY"),
        "As above.",
        "the texts that results have",
    ),
    RayNames(
        "ray.rllib.utils.torch_utils",
        ("explained_variance",),
        "Results would have another measure of how good values are than RLlib's.",
        "its formula, written again",
    ),
    RayNames(
        "ray.rllib.utils.postprocessing.value_predictions",
        ("compute_value_targets",),
        "Value targets could not be computed of values that runners sent.",
        "the connector GeneralAdvantageEstimation, which computes all values",
    ),
    RayNames(
        "ray.rllib.env.utils.infinite_lookback_buffer.InfiniteLookbackBuffer",
        ("data", "lookback", "finalized", "space", "space_struct", "len_incl_lookback"),
        "Observations would be made, and shipped, for every agent by itself.",
    ),
    RayNames(
        EPISODE,
        ("agent_episodes", "agent_t_started", "env_t", "env_t_to_agent_t", "SKIP_ENV_TS_TAG"),
        "Episodes could not be made of arrays, and agents that do not train not be taken out.",
        "add_env_step() for every step",
    ),
)
"""Public names that no page of Ray's manual has, or whose meaning was read in the sources."""


# ---- what takes more than a name ----------------------------------------------------------------------


def call_back(runner: Any, name: str, **info: Any) -> None:
    """Call the method ``name`` of a runner's callbacks, and the functions of that name, as RLlib does."""
    functions = getattr(runner.config, f"callbacks_{name}")
    info = {"env_runner": runner, "metrics_logger": runner.metrics, "env": runner.env, **info}
    make_callback(name, callbacks_objects=runner._callbacks, callbacks_functions=functions, kwargs=info)


def end_thread(learner: Any) -> None:
    """Have the thread of a learner end, if it has one; that of APPO looks for batches all the time."""
    thread = learner._learner_thread if hasattr(learner, "_learner_thread") else None
    if thread is not None and thread.is_alive() and not thread.stopped:
        thread.request_stop()


@contextlib.contextmanager
def gloo_between_learners() -> Iterator[None]:
    """Let learners that are made within the block talk through gloo, whatever they have."""
    theirs = groups._get_backend_config

    def with_gloo(learner_class: type) -> Any:
        backend: Any = theirs(learner_class)
        backend.backend = "gloo"
        return backend

    groups._get_backend_config = with_gloo
    try:
        yield
    finally:
        groups._get_backend_config = theirs


def has_room(manager: Any, tag: str | None) -> bool:
    """Return whether another call may wait at each of a manager's actors."""
    states = manager._remote_actor_states
    waiting = max(states[i].get_num_in_flight_requests(tag) for i in manager.actor_ids())
    return bool(waiting < manager._max_remote_requests_in_flight_per_actor)
