"""The link changes nothing else in its process. Each test is a program of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import eventually
from hosting import Host

from memtop.link.messages import EVENT

TESTS = Path(__file__).parent

BEGIN = """
import atexit, gc, multiprocessing, os, signal, socket, subprocess, sys, threading, time
sys.path[:0] = [{tests!r}, {package!r}]
from pretended import Pretended
from memtop.link.queue import Link

link = Link()
program = Pretended(link)
link.begin(program, {host!r})
"""


class Program:
    """A program with a link, in a process of its own, and its host."""

    def __init__(self, folder: Path, body: str) -> None:
        self.host = Host(folder)
        begin = BEGIN.format(tests=str(TESTS), package=str(TESTS.parent), host=self.host.path)
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", begin + textwrap.dedent(body)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "MEMTOP_DIR": str(folder)},
        )  # fmt: skip

    def path(self) -> str:
        """Return the socket as soon as it exists."""
        found: list[Path] = []

        def there() -> bool:
            found[:] = list(self.folder.glob("[0-9]*.sock")) if self.folder.exists() else []
            return bool(found)

        eventually("the socket", there)
        return str(found[0])

    def end(self) -> tuple[int, str, str]:
        """Return the exit code and the output."""
        out, err = self.process.communicate(timeout=60)
        self.host.close()
        return self.process.returncode, out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memtop"


def sockets(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


WATCHED = """
program.on_viewers(1)
program.run()
link.wake()
"""


@pytest.mark.parametrize("watched", ["", WATCHED])
@pytest.mark.parametrize(
    "end, code, out, err",
    [
        ("print('done')", 0, "done\n", ""),
        ("sys.exit(7)", 7, "", ""),
        ("raise ValueError('mine')", 1, "", "ValueError: mine\n"),
        ("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT, "", "KeyboardInterrupt\n"),
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); signal.raise_signal(15); time.sleep(60)", 3, "", ""),
    ],
)
def test_a_program_ends_as_without_a_link(folder: Path, watched: str, end: str, code: int, out: str, err: str) -> None:
    program = Program(folder, watched + end)
    got = program.end()
    assert got[:2] == (code, out) and got[2].endswith(err) and bool(got[2]) == bool(err)
    assert sockets(folder) == []


@pytest.mark.parametrize("setting, full", [("", True), ("full", True), ("name", False), ("nonsense", False)])
def test_arguments_are_left_out_where_the_environment_says_so(setting: str, full: bool) -> None:
    code = f"import sys; sys.path[:0] = [{str(TESTS.parent)!r}]\n"
    code += "from memtop.start.identity import this; print(this().command)"
    command = [sys.executable, "-c", code, "--token", "secret"]
    environment = {**os.environ, "MEMTOP_COMMAND_LINE": setting}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert said == (" ".join(command) if full else f"{Path(sys.executable).name} -c")


def test_a_program_that_is_killed_leaves_a_socket_that_the_next_one_removes(folder: Path) -> None:
    program = Program(folder, "time.sleep(60)")
    program.path()
    program.process.kill()
    program.end()
    assert len(sockets(folder)) == 1
    assert Program(folder, "print(len(os.listdir(os.path.dirname(link.path))))").end()[1] == "2\n"


FORKED = """
held = threading.Event()
def hold():
    with link.lock:
        held.set()
        time.sleep(1)
threading.Thread(target=hold).start()
held.wait()
files = set(os.listdir("/proc/self/fd"))
reads, writes = os.pipe()
child = os.fork()
if child == 0:
    program.run()
    sockets = [f for f in os.listdir("/proc/self/fd") if "socket" in os.path.realpath(f"/proc/self/fd/{f}")]
    os.write(writes, f"{len(sockets)} {threading.active_count()}".encode())
    sys.exit(0)
os.waitpid(child, 0)
print(os.read(reads, 100).decode(), os.path.exists(link.path))
program.run()
"""


def test_a_forked_child_has_nothing_of_the_link_and_takes_nothing_from_it(folder: Path) -> None:
    program = Program(folder, WATCHED + FORKED)
    assert program.end() == (0, "0 1 True\n", "")
    assert len([entry for entry in program.host.of(EVENT) if entry[1] == 13]) == 2, (
        "the parent's steps, not the child's"
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes_work(folder: Path, method: str) -> None:
    body = f"""
    pool = multiprocessing.get_context({method!r}).Pool(2)
    print(pool.map(abs, [-1, -2]), os.path.exists(link.path), len(os.listdir(os.path.dirname(link.path))))
    pool.close(); pool.join()
    """
    guarded = "if __name__ == '__main__':\n" + textwrap.indent(textwrap.dedent(body), "    ")
    code, out, err = Program(folder, WATCHED + guarded).end()
    assert (code, out) == (0, "[1, 2] True 2\n"), err
    assert "Error" not in err


def test_commands_have_no_file_of_the_link(folder: Path) -> None:
    count = "import os; print(len(os.listdir('/proc/self/fd')))"
    body = f"print(subprocess.check_output([sys.executable, '-c', {count!r}]).decode())"
    with_link = Program(folder, WATCHED + body).end()[1]
    without = subprocess.check_output([sys.executable, "-c", count], stdin=subprocess.PIPE).decode()
    assert with_link.strip() == without.strip()


def test_a_host_that_has_gone_does_not_end_a_program_by_sigpipe(folder: Path) -> None:
    program = Program(
        folder,
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        + WATCHED
        + """
    sys.stdin.readline()
    for _ in range(20):
        program.run()
        link.wake()
    print("goes on")
    """.replace("\n    ", "\n"),
    )
    eventually("a step", lambda: program.host.of(EVENT))
    program.host.close()
    out, err = program.process.communicate("\n", timeout=60)
    assert (program.process.returncode, out, err) == (0, "goes on\n", "")


def test_signals_reach_the_main_thread_while_it_waits(folder: Path) -> None:
    body = """
    got = []
    signal.signal(signal.SIGUSR1, lambda *_: got.append(threading.current_thread() is threading.main_thread()))
    for _ in range(50):
        os.kill(os.getpid(), signal.SIGUSR1)
    masks = [line.split()[1] for tid in os.listdir("/proc/self/task")
             for line in open(f"/proc/self/task/{tid}/status") if line.startswith("SigBlk")]
    print(set(got), sum(int(mask, 16) >> (signal.SIGINT - 1) & 1 for mask in masks), len(masks))
    """
    assert Program(folder, body).end()[:2] == (0, "{True} 1 2\n")


def test_an_idle_link_never_wakes_up(folder: Path) -> None:
    program = Program(folder, "sys.stdin.readline()")
    path = program.path()
    eventually("the greeting", lambda: program.host.greetings)
    pid = int(os.path.basename(path).split("-")[0])

    def switches() -> int:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        lines = [line for task in tasks for line in (task / "status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))

    def rests() -> bool:
        before = switches()
        rested = select_nothing(1.0)
        return rested and switches() == before

    eventually("a second without a switch", rests)
    program.process.communicate("\n", timeout=60)


def select_nothing(seconds: float) -> bool:
    """Wait a moment: only time can show that nothing happens."""
    import select

    select.select([], [], [], seconds)
    return True
