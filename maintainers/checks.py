#!/usr/bin/env python3
"""Every check of a change, and the long ones.

    python3 bootstrap.py check                  what .ci/run runs; stops at the first part that fails
    python3 bootstrap.py check core rllib        some parts alone, one after the other
    python3 bootstrap.py verify                 what takes hours; goes on where it was stopped
    python3 bootstrap.py verify long-browser    some parts alone, again

Each part writes build/checks/NAME.log. At the end comes a table with the seconds of each.
"""

import dataclasses
import hashlib
import json
import signal
import subprocess
import sys
import time

from environments import BUILT, ENVIRONMENTS, ROOT
from parts import CheckPart, PartResult, Runner

QUICK = "-m 'not slow and not verify and not browser and not checkout'"
QUICK_APART = "-m 'not slow and not verify and not browser'"
"""Also what needs files of the repository: the wheel lies apart, but they are there."""
TEST = "python -m pytest -q"
TRAINED = (
    "tests/integrations tests/render/test_picture_files.py tests/test_pages.py "
    "tests/league/test_tensor_file.py tests/env/test_matrix.py::test_pettingzoo_can_make_it_by_name "
    "tests/datasets/test_make.py"
)
FLOORS = (
    "tests/test_jit.py tests/engine/test_golden.py tests/engine/test_invariants.py tests/env/test_matrix.py "
    "tests/env/test_gymnasium.py tests/env/test_vector.py tests/env/test_semantics.py"
)
PURE = {"TERRITORIAL_MACHINE_CODE": "numba", "TERRITORIAL_WHEEL": ""}
"""With a wheel without machine code, which can be made beside it; other parts play with that of the wheel."""
# numba 0.61 is not for Python 3.14.
NUMBA_FLOOR = "python -c 'import sys; assert sys.version_info < (3, 14)'"
CHROMIUM = "python -c 'from tests.browser.chromium import find; assert find()'"
BROWSER = "python -m pip install --quiet --constraint .ci/constraints.txt --editable .[browser]"
LEAGUE = (
    "python -W ignore examples/league.py --iterations 1 --iteration-steps 16 --eval-games 1 --eval-steps 10"
)


CHECK: list[list[list[CheckPart]]] = [
    # Steps one after the other, in each step lanes side by side, in each lane parts one after the other.
    [
        [
            CheckPart(
                "style",
                ["ruff check .", "ruff format --check .", "lint-imports", "python maintainers/names.py"],
            )
        ]
    ],
    [
        [CheckPart("machine-code", ["python maintainers/machine_code.py native web"])],
        [
            CheckPart("packages", ["python maintainers/environments.py full"], variables=PURE),
            CheckPart("compiler", [f"{TEST} {QUICK} {FLOORS}"], "ends", PURE, needs=NUMBA_FLOOR),
        ],
    ],
    [
        [CheckPart("run", ["python bootstrap.py run"])],
        [
            CheckPart(
                "wheel",
                ["python maintainers/environments.py full", "python maintainers/wheel_contents.py"],
            ),
        ],
    ],
    [
        # Two streams of tests keep two cores busy, and what starts slowly beside them; with more, each test
        # takes more time of the processor.
        [
            CheckPart("core", ["python bootstrap.py test -x"]),
            CheckPart("rllib", [f"{TEST} -n 2 --dist worksteal {QUICK} tests/rllib tests/torch"], "full"),
        ],
        [
            CheckPart("types", ["mypy"]),
            # Pages of the documentation play games by the library that machine-code made.
            CheckPart("docs", ["python bootstrap.py docs"]),
            CheckPart("nothing-compiles", ["python maintainers/first_steps.py"], "full"),
            CheckPart("quick-browser", [f"{TEST} -m 'browser and quick' tests/browser"], needs=CHROMIUM),
            CheckPart(
                "examples",
                [
                    LEAGUE,
                    "python examples/ppo.py --num-games 4 --rollout 16 --total-steps 192 --eval-games 4",
                ],
                "full",
            ),
            CheckPart("trainers", [f"{TEST} {QUICK_APART} {TRAINED}"], "full"),
        ],
    ],
]

OLDEST = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
    "NUMBA_CPU_NAME": "generic",
    "TERRITORIAL_MACHINE_CODE": "v2",
    "OMP_NUM_THREADS": "1",
}
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4",
    "TERRITORIAL_MACHINE_CODE": "v3",
    "OMP_NUM_THREADS": "8",
}
SCHEMA = "check-jsonschema --builtin-schema vendor"
GITHUB = ROOT / ".github"
FLOATS = "tests/torch tests/rllib tests/integrations tests/decode tests/engine/test_golden.py"
LONG = "-m 'not browser'"

VERIFY: list[CheckPart] = [
    CheckPart(  # first, as the wheels of the parts below have what it makes
        "wheels-of-all",
        [
            "python maintainers/machine_code.py all",
            "python maintainers/wheels.py",
            "python maintainers/wheel_contents.py dist/*.whl",
        ],
    ),
    CheckPart("long-core", [f"{TEST} -n 2 -m 'slow or verify' tests"]),
    CheckPart(
        "reference",
        [
            "python -m tests.twin.differential --ticks 1000000 --processes 2",
            "python -m tests.twin.differential --with-teams --ticks 300000 --processes 2",
            "python -m tests.twin.differential --teams-of-one 10000",
        ],
    ),
    CheckPart("long-browser", [BROWSER, f"{TEST} -m browser tests/browser"], needs=CHROMIUM),
    CheckPart(
        "long-torch",
        [f"{TEST} {LONG} tests/torch tests/decode", "python examples/pairs_ppo.py --minutes 1"],
        "full",
    ),
    CheckPart("long-rllib", [f"{TEST} {LONG} tests/rllib tests/test_pages.py"], "full"),
    CheckPart(
        "long-trainers",
        [
            f"{TEST} {LONG} {TRAINED} tests/render",
            "python examples/with_cleanrl.py",
        ],
        "full",
    ),
    CheckPart("programs-of-others", [f"python {ROOT / 'maintainers/programs_of_others.py'}"], "full"),
    CheckPart("oldest-ray", [f"{TEST} {LONG} tests/rllib", LEAGUE], "oldest-ray"),
    CheckPart(
        "leagues-of-others",
        [
            f"{TEST} -m slow tests/rllib/test_kit.py -k goes_on",
            "python -W ignore benchmarks/rllib/any_env.py --snapshots 2 --iterations 1",
        ],
        "leagues-of-others",
    ),
    CheckPart("newest", [f"{TEST} -n 2 {QUICK} tests"], "newest"),
    CheckPart("processor-oldest", [f"{TEST} {QUICK} {FLOATS}"], "full", OLDEST),
    CheckPart("processor-avx2", [f"{TEST} {QUICK} {FLOATS}"], "full", AVX2),
    CheckPart(
        "tutorials",
        [
            "python notebooks/ppo.py",
            "python -W ignore notebooks/league.py",
            "jupyter execute notebooks/tour.ipynb",
        ],
        "full",
        {"MPLBACKEND": "agg"},
    ),
    CheckPart("benchmarks", [f"{TEST} benchmarks"]),
    CheckPart(
        "leagues",
        [
            "python -W ignore -m benchmarks.rllib.soak --minutes 0.5",
            "python -W ignore -m benchmarks.rllib.training_speed --size small --rounds 1",
            "python -W ignore -m benchmarks.rllib.learner_speed --size small --only features",
        ],
        "full",
    ),
    CheckPart(
        "publishing",
        [
            "twine check --strict ../../dist/*/*/*",
            "check-wheel-contents ../../dist",
            f"zizmor --offline --no-progress --quiet {GITHUB}",
            f"{SCHEMA}.github-workflows {GITHUB}/workflows/*.yml",
            f"{SCHEMA}.citation-file-format {ROOT}/CITATION.cff",
            f"{SCHEMA}.github-issue-forms {GITHUB}/ISSUE_TEMPLATE/[bw]*.yml",
            f"{SCHEMA}.github-issue-config {GITHUB}/ISSUE_TEMPLATE/config.yml",
        ],
        "publishing",
    ),
] + [
    CheckPart(f"core-{name}", [f"{TEST} -n 2 {QUICK} tests"], name)
    for name in ENVIRONMENTS
    if "python" in name
]


VERIFIED = BUILT / "verified.json"


def tree() -> str:
    """Return a name of what the checkout holds now, changes that are not committed included."""
    shown = [["rev-parse", "HEAD"], ["diff", "HEAD"], ["ls-files", "--others", "--exclude-standard"]]
    outputs = [subprocess.check_output(["git", *command], cwd=ROOT) for command in shown]
    new = [(ROOT / name).read_bytes() for name in outputs[-1].decode().splitlines()]
    return hashlib.sha256(b"\0".join(outputs + new)).hexdigest()


def check(names: list[str], runner: Runner) -> None:
    """Run what a change has to pass, or the named parts of it."""
    parts = {part.name: part for lanes in CHECK for lane in lanes for part in lane}
    for lanes in [[[parts[name]]] for name in chosen(names, parts)] if names else CHECK:
        if not runner.failed:
            runner.run_side_by_side(lanes)


def verify(names: list[str], runner: Runner) -> None:
    """Run the long parts that have not passed on this state of the checkout, or the named ones."""
    parts = {part.name: part for part in VERIFY}
    began_with = tree()
    state = json.loads(VERIFIED.read_text()) if VERIFIED.exists() else {}
    passed = state.get("passed", {}) if state.get("tree") == began_with else {}
    runner.results = {name: PartResult(**passed[name]) for name in passed if name not in names}
    for name in chosen(names, parts) or [name for name in parts if name not in passed]:
        runner.run(parts[name])
        if tree() != began_with:
            raise SystemExit("the checkout has changed meanwhile: what has passed so far does not count")
        now = {
            name: dataclasses.asdict(result)
            for name, result in runner.results.items()
            if not result.code and not result.skipped
        }
        VERIFIED.write_text(json.dumps({"tree": began_with, "passed": now}, indent=2) + "\n")


def chosen(names: list[str], parts: dict[str, CheckPart]) -> list[str]:
    """Return ``names``; an error with all that there are where one is unknown."""
    for name in names:
        if name not in parts:
            raise SystemExit(f"there is no part {name!r}; there are {', '.join(parts)}")
    return names


def main(verb: str, *names: str) -> int:
    """Run the checks, print the table, and return the exit code."""
    began = time.monotonic()
    runner = Runner({"check": ".ci/run", "verify": "python3 bootstrap.py verify"}[verb])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        {"check": check, "verify": verify}[verb](list(names), runner)
    finally:
        runner.stop()
    skipped = [name for name, result in runner.results.items() if result.skipped]
    print(f"\n{runner.table()}\n")
    print(
        f"FAILED: {', '.join(runner.failed)}" if runner.failed else f"all passed but {len(skipped)} skipped"
    )
    print(f"{time.monotonic() - began:.0f} s in all")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
