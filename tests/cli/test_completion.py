"""``territorial --print-completion``: bash completes by the script. The root's help has groups of verbs."""

import shutil
import subprocess
import sys

import pytest

from territorial import cli
from territorial.cli import SHELLS

pytest.importorskip("shtab", reason="shtab is not installed: the extra `completion` has it")

COMPLETED = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
$(complete -p territorial | sed 's/.*-F \\([^ ]*\\) .*/\\1/') territorial "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["wa"], {"watch"}),
        (["watch", "--pa"], {"--page"}),
        (["watch", "--num-pl"], {"--num-players"}),
        (["train", "runs/one", "--preset", "qu"], set()),
        (["league", "sh"], {"show"}),
        (["info", "ma"], {"maps"}),
    ],
)
def test_bash_completes(tmp_path, capsys, words, wanted):
    assert cli.main(["--print-completion", "bash"]) == 0
    script = tmp_path / "territorial.bash"
    script.write_text(capsys.readouterr().out)
    done = subprocess.run(
        ["bash", "-c", COMPLETED, "bash", script, "territorial", *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert wanted <= set(done.stdout.split()), done.stderr
    assert all(found.startswith(words[-1]) for found in done.stdout.split())


def test_without_shtab_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["--print-completion", "bash"]) == 2
    assert "pip install 'territorial-env[completion]'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_root_prints_its_verbs_in_groups(capsys, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for title, names in cli.GROUPS.items():
        block = out[out.index(f"\n{title}:\n") :].partition("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines()[2:] if line[:3].strip()] == list(names)
    assert max(map(len, out.splitlines())) <= 80
    assert out.endswith("describes each verb.\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_that_is_here_reads_its_script(tmp_path, capsys, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    assert cli.main(["--print-completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert all(verb in script.read_text() for verb in cli.VERBS)
    subprocess.run([shell, "-n", script], check=True)
