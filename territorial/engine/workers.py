"""The threads of a batch: what each has for itself, and the compiled calls that they share."""

from __future__ import annotations

import numpy as np

from territorial.bots.network import NetworkWork, make_network_work
from territorial.config import GameConfig, make_params
from territorial.engine.batch_arrays import BatchArrays
from territorial.engine.compiled_calls import CompiledCalls
from territorial.engine.custom_bots import CustomBots
from territorial.engine.launch_log import Tape, make_tape
from territorial.engine.step import Batch, Options
from territorial.game.scratch import Work, make_work
from territorial.game.spawning import MapBank
from territorial.jit.thread_pool import Crew
from territorial.observation.copies import Copies, no_addresses, write_addresses
from territorial.typing import Bools


class Workers:
    """The threads that play the games of a batch. They belong to a process, and are in no copy.

    Args:
        config: rules and size of the games.
        arrays: what steps write to.
        bank: the maps of the games.
        custom: the custom bots; more may come.
        options: how the batch runs.
        num_threads: the most threads that share the games.

    Attributes:
        works: scratch memory, for each thread.
        network_works: the same for networks, which are given some when the first one comes.
        launch_log: what steps note of the games that are recorded.

    """

    def __init__(
        self,
        config: GameConfig,
        arrays: BatchArrays,
        bank: MapBank,
        custom: CustomBots,
        options: Options,
        *,
        num_threads: int,
    ) -> None:
        self._config, self._arrays, self._bank, self._custom = config, arrays, bank, custom
        self._options = options
        self._params = make_params(config)
        num_games = len(arrays.actions)
        threads = min(num_threads, num_games)
        shows_boards = arrays.buffers.boards.size > 0
        self.works: list[Work] = [make_work(config, logs_changes=shows_boards) for _ in range(threads)]
        self.network_works = self._make_network_works()
        self.crew = Crew(num_games, threads)
        """The thread pool."""
        self.launch_log = self._log_of(np.zeros(num_games, np.bool_))
        self._addresses = no_addresses()
        self._entries = np.zeros(2, np.int64)
        self._calls: CompiledCalls | None = None

    @property
    def calls(self) -> CompiledCalls:
        """The compiled calls for the arrays of the batch as they are: the table of custom bots may move."""
        calls = self._calls
        if calls is None or calls.custom is not self._custom.table or calls.launch_log is not self.launch_log:
            self.crew.retire()  # no thread is to watch for calls with what it was given before
            self.network_works = self._make_network_works()
            batches = [self.batch(thread) for thread in range(len(self.works))]
            calls = self._calls = CompiledCalls(batches, self.crew)
        return calls

    def copy_to(self, copies: Copies | None) -> None:
        """Let steps copy what is observed into ``copies``, which the caller keeps; None: nowhere."""
        write_addresses(copies, self._addresses)

    def record(self, recorded: Bools) -> None:
        """Log the launches of the games where ``recorded``, (E,), is True, and of no others."""
        self.launch_log = self._log_of(recorded)

    def batch(self, thread: int) -> Batch:
        """Return what a thread has to know to step the games."""
        arrays = self._arrays
        return Batch(
            state=arrays.state,
            params=self._params,
            work=self.works[thread],
            bank=self._bank,
            custom=self._custom.table,
            networks=self.network_works[thread],
            seed=arrays.seed,
            actions=arrays.actions,
            buffers=arrays.buffers,
            final_buffers=arrays.final_buffers,
            results=arrays.results,
            slots=arrays.slots,
            tape=self.launch_log,
            call=arrays.call,
            copies=self._addresses,
            launched=arrays.launched,
            options=self._options,
            thread=thread,
            entries=self._entries,
            queues=self.crew.queues,
            post=self.crew.posts[thread],
        )

    def _make_network_works(self) -> list[NetworkWork]:
        networks = len(self._custom.table.networks) if self._custom.has_networks else 0
        return [make_network_work(self._config.num_players, networks) for _ in self.works]

    def _log_of(self, recorded: Bools) -> Tape:
        config = self._config
        return make_tape(recorded, config.num_players, config.height, config.width)
