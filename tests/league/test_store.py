"""SnapshotStore: what is added comes back, whole or not at all, from one writer; what is wrong is named."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from territorial.constants import OBS_VERSION, RULES_VERSION
from territorial.files import locks as locking
from territorial.league import (
    DamagedSnapshotError,
    MismatchError,
    SnapshotStore,
    StoreInUseError,
    UnknownSnapshotError,
)
from territorial.league.store import WRITER, only_writer
from tests.files.test_atomic import posix
from tests.league.support import at_once, killed_at_every_call, manifest, tensors
from tests.league.test_tensor_file import as_bytes


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "league")


def file_in(store: SnapshotStore, name: str, file: str = "weights.safetensors") -> Path:
    return store.path / name / file


def assert_same(found, expected) -> None:
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


# ---- what is added comes back ------------------------------------------------------------------------


def test_a_snapshot_comes_back_with_its_manifest(store):
    about = manifest(settings={"widths": (64, 64)}, metadata={"iteration": 12, "note": "groß"})
    store.add("main-1", tensors(), about)
    assert_same(store.load("main-1"), tensors())
    assert store.manifest("main-1") == store.load("main-1").manifest == about
    assert about.settings == {"widths": [64, 64]}  # as JSON gives it back
    assert store.digest("main-1") == hashlib.sha256(file_in(store, "main-1").read_bytes()).hexdigest()


def test_a_network_for_the_engine_lies_beside_the_weights_and_goes_with_them(store):
    store.add("main-1", tensors(), manifest(), network=[b"a network ", b"of the engine"])
    store.add("main-2", tensors(), manifest())
    found = store.network("main-1")
    content = b"a network of the engine"
    assert (found.path.read_bytes(), found.sha256) == (content, hashlib.sha256(content).hexdigest())
    assert store.network("main-2") is None
    assert_same(store.load("main-1"), tensors())
    store.remove("main-1")
    assert not found.path.exists()
    with pytest.raises(UnknownSnapshotError, match="'main-1'"):
        store.network("main-1")
    store.add("old", tensors(), manifest(rules_version=RULES_VERSION + 1), network=[b"of other rules"])
    with pytest.raises(MismatchError, match="snapshot 'old': rules_version is"):
        store.network("old")


def test_arrays_are_read_only_views_of_one_file(store):
    store.add("main", tensors(), manifest())
    weights = store.load("main")
    bases = set()
    for array in weights.values():
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array.flags.writeable = True
        assert not array.flags.owndata
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        bases.add(id(base))
    assert len(bases) == 1
    assert weights.nbytes == sum(array.nbytes for array in tensors().values())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_a_loaded_snapshot_keeps_no_file_open(store):
    store.add("main", tensors(), manifest())
    before = len(os.listdir("/proc/self/fd"))
    kept = [store.load("main") for _ in range(20)]
    assert (len(os.listdir("/proc/self/fd")), len(kept)) == (before, 20)


# ---- removing ----------------------------------------------------------------------------------------


def test_a_removed_snapshot_is_gone_and_its_name_is_free(store):
    store.add("main", tensors(0), manifest())
    with pytest.raises(FileExistsError, match=r"already has a snapshot 'main'"):
        store.add("main", tensors(1), manifest())
    assert_same(store.load("main"), tensors(0))
    store.remove("main")
    assert store.names() == []
    with pytest.raises(UnknownSnapshotError):
        store.load("main")
    store.add("main", tensors(1), manifest())
    assert_same(store.load("main"), tensors(1))


@posix
def test_whoever_has_it_loaded_keeps_what_another_process_removes(store, both):
    big = np.random.default_rng(0).integers(0, 256, 3_000_000, np.uint8)
    store.add("main", {"big": big}, manifest())
    weights = store.load("main", verify=False)
    both.apply(store.remove, ("main",))
    assert "main" not in store
    assert weights["big"].tobytes() == big.tobytes()


# ---- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc/x", "a\\b", ".lock", "C:x", "a\n", "a\0", "a.", "é", "a" * 129],
)
def test_names_that_would_lead_elsewhere_are_refused_everywhere(store, name):
    for method in (store.load, store.manifest, store.remove, store.pack):
        with pytest.raises(ValueError, match=r"the name of a snapshot is .*; it must have 1 to 128 letters"):
            method(name)
    with pytest.raises(ValueError, match="the name of a snapshot is"):
        store.add(name, tensors(), manifest())
    assert name not in store
    assert sorted(os.listdir(store.path.parent)) == ["league"]


def test_unknown_names_are_answered_with_those_there_are(store):
    with pytest.raises(UnknownSnapshotError, match=r"there is no snapshot 'x' in .*; it is empty"):
        store.load("x")
    store.add("main-1", tensors(), manifest())
    with pytest.raises(UnknownSnapshotError, match="it has main-1"):
        store.remove("x")


# ---- what does not fit -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("architecture", "cnn"),
        ("num_players", 8),
        ("settings", {"width": 1}),
        ("obs_version", OBS_VERSION + 1),
        ("rules_version", RULES_VERSION + 1),
    ],
)
def test_a_snapshot_for_something_else_is_refused(store, field, value):
    store.add("main", tensors(), manifest())
    with pytest.raises(MismatchError, match=f"snapshot 'main': {field} is .*; here it must be"):
        store.load("main", expect={field: value})
    store.load("main", expect={field: getattr(manifest(), field)})
    with pytest.raises(TypeError, match="'colour' is not a field of a manifest; its fields are architecture"):
        store.load("main", expect={"colour": "red"})


def test_versions_of_other_releases_are_refused_unless_asked_for(store):
    store.add("old", tensors(), manifest(obs_version=OBS_VERSION + 1, rules_version=RULES_VERSION + 1))
    with pytest.raises(MismatchError, match="obs_version"):
        store.load("old")
    with pytest.raises(MismatchError, match="rules_version"):
        store.load("old", expect={"obs_version": OBS_VERSION + 1})
    assert_same(store.load("old", expect={"obs_version": None, "rules_version": None}), tensors())


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (
            {"num_players": -1},
            ValueError,
            "num_players is -1; it must be a whole number from 0 to 2147483648",
        ),
        ({"height": True}, TypeError, "height is True"),
        ({"frames": "4"}, TypeError, "frames is '4'; it must be a whole number from 0 to 2147483648"),
        ({"architecture": ""}, TypeError, "architecture is ''"),
        ({"metadata": {"a": [object]}}, TypeError, r"metadata\['a'\]\[0\] is <class 'object'>"),
        ({"settings": {1: 2}}, TypeError, "settings has the key 1; keys must be strings"),
        ({"metadata": {"it": [np.nan]}}, ValueError, r"metadata\['it'\]\[0\] is nan; JSON has finite"),
        ({"settings": []}, TypeError, r"settings is \[\]; it must be a mapping"),
        ({"metadata": None}, TypeError, "metadata is None; it must be a mapping"),
    ],
)
def test_manifests_are_checked(fields, error, message):
    with pytest.raises(error, match=message):
        manifest(**fields)


def test_what_cannot_be_stored_leaves_the_store_as_it_was(store):
    for bad in ({"w": np.array([object()])}, {"w": np.array(["a"])}, {3: np.zeros(2)}):
        with pytest.raises(TypeError):
            store.add("main", bad, manifest())
    with pytest.raises(ValueError):
        store.add("main", tensors(), manifest(metadata={"rating": float("nan")}))
    with pytest.raises(TypeError, match=r"it must be a territorial.league.Manifest"):
        store.add("main", tensors(), {"architecture": "mlp"})
    assert os.listdir(store.path) == [".lock"]


def test_a_folder_that_is_no_snapshot_is_named_and_can_be_replaced(store):
    (store.path / "main").mkdir()
    (store.path / "main" / "weights.safetensors").write_bytes(b"x")
    for _ in range(2):
        with pytest.raises(FileExistsError, match=r"main is not a snapshot because it has no manifest\.json"):
            store.add("main", tensors(), manifest())
    store.add("main", tensors(), manifest(), replace=True)
    assert_same(store.load("main"), tensors())


def test_what_is_left_of_a_snapshot_is_fetched_again(store, tmp_path):
    store.add("main", tensors(), manifest())
    cache = SnapshotStore(tmp_path / "cache", fetch=store.pack)
    assert_same(cache.load("main"), tensors())
    file_in(cache, "main", "manifest.json").unlink()
    assert_same(cache.load("main"), tensors())


# ---- damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_files_of_another_length_are_damaged_and_so_are_missing_ones(store, change, verify):
    store.add("main", tensors(), manifest())
    path = file_in(store, "main")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(
        DamagedSnapshotError, match=r"'main' in .* damaged: weights.safetensors: it has \d+ byt"
    ):
        store.load("main", verify=verify)
    path.unlink()
    with pytest.raises(DamagedSnapshotError, match=r"weights.safetensors"):
        store.load("main", verify=verify)


def test_every_flipped_bit_is_found(store):
    store.add("main", tensors(), manifest())
    path = file_in(store, "main")
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedSnapshotError, match="its content differs from what was written"):
            store.load("main")


# ---- several processes, and processes that are stopped -----------------------------------------------


def _add_all(path: Path, own: int, count: int) -> int:
    """Add snapshots of one's own, and try for those that everybody wants; return how many of these it got."""
    store, got = SnapshotStore(path), 0
    for i in range(count):
        store.add(f"own-{own}-{i}", tensors(own), manifest())
        try:
            store.add(f"common-{i}", tensors(own), manifest(metadata={"by": own}))
            got += 1
        except FileExistsError:
            pass
    return got


def test_processes_that_add_at_once_get_every_name_once(store, both):
    got = at_once(both, _add_all, [(store.path, own, 8) for own in range(2)])
    assert (sum(got), len(store.names())) == (8, 2 * 8 + 8)
    for name in store.names():
        weights = store.load(name)
        owner = int(name.split("-")[1]) if name.startswith("own") else weights.manifest.metadata["by"]
        assert_same(weights, tensors(owner))


STOPPED = """
import os, sys, numpy as np
from territorial.league import store
from tests.league.support import manifest

def stop(path, pieces):
    path.write_bytes(b"half")
    os._exit(9)

done = store._write
for file in sys.argv[2:]:
    child = os.fork()
    if not child:
        store._write = lambda path, pieces: (stop if path.name == file else done)(path, pieces)
        store.SnapshotStore(f"{sys.argv[1]}/{file}").add("main", {"w": np.ones(4)}, manifest())
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_a_process_stopped_half_way_leaves_nothing_that_anybody_sees(tmp_path):
    files = ("weights.safetensors", "manifest.json")
    command = [sys.executable, "-c", STOPPED, str(tmp_path), *files]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], check=True, stdout=subprocess.PIPE)
    assert ended.stdout.split() == [b"9", b"9"]
    for file in files:
        store = SnapshotStore(tmp_path / file)
        assert (store.path / ".unfinished").exists()
        assert store.names() == []
        store.add("main", tensors(), manifest())
        assert_same(store.load("main"), tensors())
        assert sorted(os.listdir(store.path)) == [".lock", "main"]


def test_a_snapshot_that_is_replaced_while_it_is_loaded_is_read_again(store, monkeypatch):
    store.add("main", tensors(0), manifest())
    about = SnapshotStore._about

    def replaced(self, name):
        found = about(self, name)
        monkeypatch.setattr(SnapshotStore, "_about", about)
        store.remove(name)
        store.add(name, tensors(1) | {"more": np.ones(100)}, manifest(architecture="other"))
        return found

    monkeypatch.setattr(SnapshotStore, "_about", replaced)
    weights = store.load("main")
    assert weights.manifest.architecture == "other"
    assert_same(weights, tensors(1) | {"more": np.ones(100)})


# ---- fetching ----------------------------------------------------------------------------------------


class Fetch:
    """Fetches from another store and leaves a mark for every call."""

    def __init__(self, source: SnapshotStore, marks: Path) -> None:
        self.source, self.marks = source, marks
        marks.mkdir()

    def __call__(self, name: str):
        (self.marks / f"{name}-{os.getpid()}").touch(exist_ok=False)
        return self.source.pack(name)


@pytest.fixture
def source(tmp_path: Path) -> SnapshotStore:
    store = SnapshotStore(tmp_path / "source")
    for i in range(3):
        store.add(f"main-{i}", tensors(i), manifest(metadata={"i": i}))
    return store


def test_what_is_not_here_is_fetched_when_it_is_needed(source, tmp_path):
    fetch = Fetch(source, tmp_path / "marks")
    node = SnapshotStore(tmp_path / "node", fetch=fetch)
    assert node.names() == []
    assert node.manifest("main-1") == source.manifest("main-1")
    for _ in range(2):
        assert_same(node.load("main-1"), tensors(1))
    assert (node.names(), len(os.listdir(fetch.marks))) == (["main-1"], 1)


def _load_all(store: SnapshotStore, names: list[str]) -> list[float]:
    return [float(store.load(name)["first.weight"].sum()) for name in names]


def test_the_processes_of_a_machine_fetch_each_snapshot_once(source, tmp_path, both):
    fetch = Fetch(source, tmp_path / "marks")
    node = SnapshotStore(tmp_path / "node", fetch=fetch)
    found = at_once(both, _load_all, [(node, source.names())] * 2)
    assert found == [[float(tensors(i)["first.weight"].sum()) for i in range(3)]] * 2
    assert len(os.listdir(fetch.marks)) == 3


def test_a_network_is_fetched_with_the_weights(source, tmp_path):
    source.add("strong", tensors(), manifest(), network=[b"a network"])
    node = SnapshotStore(tmp_path / "node", fetch=source.pack)
    assert node.network("strong").path.read_bytes() == b"a network"
    assert node.network("strong").sha256 == source.network("strong").sha256
    assert_same(node.load("strong"), tensors())
    assert node.network("main-0") is None


def test_what_nobody_has_is_unknown(source, tmp_path):
    def without(name: str):
        raise KeyError(name)

    for fetch in (source.pack, without):
        with pytest.raises(UnknownSnapshotError, match="there is no snapshot 'x'"):
            SnapshotStore(tmp_path / "node", fetch=fetch).load("x")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("weights", as_bytes(tensors(1)), "its content differs from what was written"),
        ("network", b"a netwerk", "its content differs"),
        ("network", None, "network.safetensors is missing"),
    ],
)
def test_what_is_damaged_on_its_way_is_not_kept(source, tmp_path, file, content, message):
    source.add("strong", tensors(), manifest(), network=[b"a network"])
    node = SnapshotStore(tmp_path / "node", fetch=lambda name: source.pack(name)._replace(**{file: content}))
    with pytest.raises(DamagedSnapshotError, match=f"as fetched: {message}"):
        node.load("strong")
    assert node.names() == []


def put(folder, value):
    """Add the snapshot "last" to a store, in place of an earlier one."""
    SnapshotStore(folder).add("last", {"w": np.full(100, value)}, manifest(), replace=True)


def begin(folder):
    put(folder, 1)


def change(folder):
    put(folder, 2)


def value_in(folder):
    return int(SnapshotStore(folder).load("last")["w"][0])


def test_one_that_does_not_take_the_place_leaves_the_old_one(tmp_path, monkeypatch):
    put(tmp_path, 1)
    real = os.rename

    def failing(source, target, **kwargs):
        if str(source).endswith(".unfinished"):
            raise OSError(5, "Input/output error", str(source))
        return real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="Input/output error"):
        put(tmp_path, 2)
    assert value_in(tmp_path) == 1


@posix
def test_a_process_killed_at_any_call_leaves_one_of_the_two(tmp_path):
    found = set()
    for number in range(1, killed_at_every_call("tests.league.test_store", tmp_path) + 1):
        SnapshotStore(tmp_path / str(number)).add("other", {}, manifest())  # the next change of the store
        found.add(value_in(tmp_path / str(number)))
        assert sorted(os.listdir(tmp_path / str(number))) == [".lock", "last", "other"]
    assert found == {1, 2}


HOLDS = """
import runpy, sys, time
from pathlib import Path

with runpy.run_path(sys.argv[1])["locked"](Path(sys.argv[2])):
    print("holds", flush=True)
    time.sleep(600)
"""


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    with only_writer(tmp_path):
        with pytest.raises(StoreInUseError, match=r"another run writes to the store .*\(process \d+ on "):
            only_writer(tmp_path).__enter__()
        assert SnapshotStore(tmp_path).names() == []
    with only_writer(tmp_path):
        pass


def test_the_store_of_a_writer_that_was_killed_is_free(tmp_path):
    command = [sys.executable, "-c", HOLDS, locking.__file__, str(Path(tmp_path / WRITER))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline().strip() == b"holds"
        with pytest.raises(StoreInUseError):
            only_writer(tmp_path).__enter__()
        other.kill()
        other.wait()
        with only_writer(tmp_path):
            assert (tmp_path / WRITER).is_file()


def test_a_store_within_a_store_is_one_of_its_own(tmp_path):
    inner = SnapshotStore(tmp_path).within("trial-1")
    assert inner.path == tmp_path / "trial-1"
    with only_writer(tmp_path), only_writer(inner.path):
        assert SnapshotStore(tmp_path).names() == []
