"""At a terminal: completion in a real bash, the shell, colours, closed pipes and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Timer

import pexpect
import pytest

from omnigraph.api.graph import init
from omnigraph.cli.commands.read import QueryCall
from omnigraph.cli.commands.shell import mutate_until_interrupted, read_until_interrupted
from omnigraph.cli.session import ReadTarget
from omnigraph.deploy.definition import graph_uri
from omnigraph.errors import CancelledError
from omnigraph.read.operators import walk
from omnigraph.span import Source
from tests.cli.scene import GOLDEN

# A child at a terminal is forked and becomes another program at once.
pytestmark = [
    pytest.mark.filterwarnings("ignore:lance is not fork-safe"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

BIN = Path(sys.executable).parent
NEW_PROMPT = "\x1b[?2004h"  # what a terminal is told when a line begins
EVERYONE = "match { $p: Person } return { $p.name as name } order { name };"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    for file in GOLDEN.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    graph = init(folder / "g.omni", (GOLDEN / "people.pg").read_text(), durable=False)
    graph.load([str(GOLDEN / "people.jsonl")], engine="inline")
    graph.create_branch("review/hires")
    graph.create_tag("v1")
    (folder / "omnigraph.yaml").write_text(
        "graphs: {people: {uri: g.omni}}\ncli: {graph: people}\n"
        "aliases: {friends: {command: read, query: people.gq, name: friends, args: [name]}}\n"
    )
    return folder


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR",)}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**kept, **own, "PATH": path, "TERM": "xterm", "PS1": "READY "}


@pytest.fixture
def bash(folder: Path, environment: dict[str, str]) -> Iterator[pexpect.spawn]:
    shell = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile"],
        cwd=str(folder),
        env=environment,
        encoding="utf-8",
        timeout=25,
        dimensions=(40, 200),
    )
    shell.expect("READY ")
    shell.sendline("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'")
    shell.expect("READY ")
    shell.sendline('eval "$(omnigraph completion bash)"')
    shell.expect("READY ")
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("omnigraph snap", "omnigraph snapshot "),
        ("omnigraph branch delete rev", "review/hires "),
        ("omnigraph read --branch rev", "review/hires "),
        ("omnigraph export --type Per", "Person "),
        ("omnigraph blame Kno", "Knows "),
        ("omnigraph read --snapshot v", "v1 "),
        ("omnigraph read --alias fr", "friends "),
        ("omnigraph snapshot --target peo", "people "),
        ("omnigraph read --query people.gq --name eve", "everyone "),
        ("omnigraph read --format jsonl --bra", "--branch "),
        ("omnigraph explain head_", "head_moved "),
        ("omnigraph load --data peo", "people."),
    ],
)
def test_bash_completes(bash: pexpect.spawn, typed: str, completed: str) -> None:
    bash.send(f"{typed}\t")
    bash.expect_exact(typed)
    bash.expect_exact(completed.removeprefix(typed) if completed.startswith(typed) else "")
    bash.sendcontrol("u")
    bash.sendline("echo over")
    bash.expect_exact("over")


@pytest.fixture
def offered(folder: Path, environment: dict[str, str]) -> Callable[[str], list[str]]:
    """What a shell offers for the last of some words."""

    def names(words: str) -> list[str]:
        given = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        home = {"OMNIGRAPH_HOME": str(folder / "home"), "_OMNIGRAPH_COMPLETE": "bash_complete"}
        variables = {**environment, **given, **home}
        done = subprocess.run(
            ["omnigraph"], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        return [line.partition(",")[2] for line in done.stdout.split()]

    return names


def test_names_are_completed_from_a_graph_as_it_is_now(
    folder: Path, environment: dict[str, str], offered: Callable[[str], list[str]]
) -> None:
    assert offered("omnigraph read --branch ") == ["main", "review/hires"]
    subprocess.run(
        ["omnigraph", "branch", "create", "new"], cwd=folder, env=environment, check=True
    )
    assert offered("omnigraph read --branch ") == ["main", "new", "review/hires"]
    subprocess.run(
        ["omnigraph", "branch", "delete", "new"], cwd=folder, env=environment, check=True
    )
    assert offered("omnigraph read --target nowhere --branch ") == []


def test_names_are_completed_from_the_graph_that_is_named_before_them(
    folder: Path, offered: Callable[[str], list[str]]
) -> None:
    init(folder / "other.omni", "node Town { name: String @key }").create_branch("draft")
    (folder / "home").mkdir()
    (folder / "home" / "config.yaml").write_text(
        f"clusters: {{brain: {{uri: '{folder / 'brain'}'}}}}\n"
        "profiles: {lab: {cluster: brain, graph: other}}\n"
    )
    init(graph_uri(str(folder / "brain"), "other"), "node Lake { name: String @key }")

    assert offered("omnigraph read other.omni --branch ") == ["main", "draft"]
    assert offered("omnigraph export other.omni --type ") == ["Town"]
    assert offered("omnigraph export --uri other.omni --type ") == ["Town"]
    assert offered("omnigraph branch merge draft other.omni --into ") == ["main", "draft"]
    assert offered("omnigraph read --alias friends ann --branch ") == ["main", "review/hires"]
    assert offered("omnigraph export -P lab --type ") == ["Lake"]
    assert offered("omnigraph export other.omni --type T") == ["Town"]


class Talk:
    """A shell at a terminal: what is typed, and what it prints for it."""

    def __init__(self, child: pexpect.spawn) -> None:
        self.child = child

    def says(self, text: str) -> None:
        self.child.expect_exact(text)

    def type(self, text: str) -> None:
        self.child.send(text)


@pytest.fixture
def talk(folder: Path, environment: dict[str, str]) -> Iterator[Talk]:
    child = pexpect.spawn(
        str(BIN / "omnigraph"),
        ["shell"],
        cwd=str(folder),
        env={**environment, "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        timeout=25,
        dimensions=(40, 200),
    )
    child.expect_exact(NEW_PROMPT)
    child.expect_exact("g main>")
    yield Talk(child)
    child.close(force=True)


def test_a_query_of_many_lines_is_run_when_it_is_complete(talk: Talk) -> None:
    talk.type("query q() {\rmatch { $p: Person }\rreturn { $p.name as name }\r}\r")
    for line in ("name", "----", "ann", "bob", "(2 rows)"):
        talk.says(line)
    talk.type(f"{EVERYONE}\r")
    talk.says("(2 rows)")


def test_dot_commands_show_and_change_where_the_shell_is(talk: Talk) -> None:
    talk.type(".branch\r")
    talk.says("* main")
    talk.type(".branch review/hires\r")
    talk.says("g review/hires>")
    talk.type('insert Person { name: "eve" };\r')
    talk.says("changed 1 node and 0 edges on review/hires")
    talk.type(".mode csv\r")
    talk.type(".set name ann\r")
    talk.type(".run people.gq friends\r")
    talk.says("friend")
    talk.says("bob")
    talk.type(".explain\r")
    talk.says("NodeScan")
    talk.type(".schema Knows\r")
    talk.says("edge Knows: Person -> Person")
    talk.type(".mod\r")
    talk.says("unknown command '.mod'")
    talk.says("did you mean '.mode'?")
    talk.type(".help\r")
    talk.says(".quit")
    talk.type(".quit\r")
    talk.child.expect(pexpect.EOF)


def test_an_error_is_told_and_the_next_statement_is_read(talk: Talk) -> None:
    talk.type("match { $p: Persn } return { $p };\r")
    talk.says("error[T1]: unknown type 'Persn'")
    talk.type(f"{EVERYONE}\r")
    talk.says("(2 rows)")


def test_tab_completes_names_of_the_graph(talk: Talk) -> None:
    talk.type("match { $p: Per\t")
    talk.says("son")
    talk.type(" } return { coal\t")
    talk.says("esce")
    talk.type("($p.ag\t")
    talk.says("e")
    talk.type(", 0) as x };\r")
    talk.says("(2 rows)")
    talk.type(".branch rev\t")
    talk.says("iew/hires")
    talk.type("\r")
    talk.says("g review/hires>")


def test_ctrl_c_drops_what_is_typed_and_ctrl_d_leaves(talk: Talk) -> None:
    talk.type("query q() {")
    talk.says("{")
    talk.child.sendcontrol("c")
    talk.says(NEW_PROMPT)
    talk.type(f"{EVERYONE}\r")
    talk.says("(2 rows)")
    talk.says(NEW_PROMPT)
    talk.child.sendcontrol("d")
    talk.child.expect(pexpect.EOF)


@pytest.fixture
def usual_ctrl_c() -> Iterator[None]:
    """Ctrl-C does what it does in a new process, whatever this one was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_ctrl_c")
def test_ctrl_c_cancels_the_query_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One start at a time: the walk alone takes many seconds.
    monkeypatch.setattr(walk, "_MOST_MARKS", 1)
    graph = init(tmp_path / "g.omni", (GOLDEN / "people.pg").read_text(), durable=False)
    names = [f"p{number}" for number in range(2_000)]
    lines = [{"type": "Person", "data": {"name": name}} for name in names]
    edges = [{"edge": "Knows", "from": one, "to": other} for one, other in pairwise(names)]
    graph.load("\n".join(json.dumps(line) for line in [*lines, *edges]), engine="inline")
    hops = "match { $a: Person  $a knows {1,} $b } return { count(distinct $b) as n }"
    query = QueryCall(Source("<text>", f"query q() {{ {hops} }}"), None, {})

    ctrl_c = Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    ctrl_c.start()
    with pytest.raises(CancelledError):
        read_until_interrupted(graph, query, ReadTarget("main"))


@pytest.mark.usefixtures("usual_ctrl_c")
def test_ctrl_c_cancels_the_change_that_runs(tmp_path: Path) -> None:
    graph = init(tmp_path / "g.omni", (GOLDEN / "people.pg").read_text(), durable=False)
    lines = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(2_000)]
    graph.load("\n".join(json.dumps(line) for line in lines), engine="inline")
    head = graph.snapshot().commit.id
    updates = 'update Person set { age: 1 } where name != "x" ' * 2_000
    query = QueryCall(Source("<text>", f"query q() {{ {updates} }}"), None, {})

    ctrl_c = Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    ctrl_c.start()
    with pytest.raises(CancelledError):
        mutate_until_interrupted(graph, query, "main")

    assert graph.snapshot().commit.id == head


def test_what_was_typed_is_there_the_next_time(
    talk: Talk, folder: Path, environment: dict[str, str]
) -> None:
    talk.type(".mode kv\r")
    talk.says("g main>")
    talk.type(".quit\r")
    talk.child.expect(pexpect.EOF)
    history = folder / "state" / "omnigraph" / "history"
    assert "+.mode kv\n" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def piped(text: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["omnigraph", "shell"],
        input=text,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_statements_come_through_a_pipe(folder: Path, environment: dict[str, str]) -> None:
    done = piped(f".mode csv\n{EVERYONE}\n", folder, environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["name", "ann", "bob"]


def test_what_comes_through_a_pipe_may_begin_with_a_byte_order_mark(
    folder: Path, environment: dict[str, str]
) -> None:
    done = piped(f"\ufeff{EVERYONE}\n", folder, environment)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["my own.gq", "'my own.gq'", "'my own.gq' everyone"])
def test_a_file_that_is_run_may_have_spaces_in_its_name(
    folder: Path, environment: dict[str, str], words: str
) -> None:
    query = f"query everyone() {{ {EVERYONE.removesuffix(';')} }}"
    (folder / "my own.gq").write_text(query)

    done = piped(f".mode csv\n.run {words}\n", folder, environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["name", "ann", "bob"]


@pytest.mark.parametrize("words", ["my own file.gq", "'my own.gq"])
def test_what_is_no_file_and_no_query_says_how_to_quote(
    folder: Path, environment: dict[str, str], words: str
) -> None:
    done = piped(f".run {words}\n", folder, environment)

    assert done.returncode == 1
    assert "quote a name with spaces" in done.stderr


def test_comments_may_follow_what_comes_through_a_pipe(
    folder: Path, environment: dict[str, str]
) -> None:
    body = "match { $p: Person } return { $p.name as name } order { name }"
    text = f".mode csv\n{body}; // all of them\n{body} /* again */ ;\n{body} // and again\n;\n"
    done = piped(f"{text}{body} // at last", folder, environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["name", "ann", "bob"] * 4


def test_the_first_error_ends_what_comes_through_a_pipe(
    folder: Path, environment: dict[str, str]
) -> None:
    done = piped(f".branch nowhere\n{EVERYONE}\n", folder, environment)

    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("error[branch_not_found]")


@pytest.mark.parametrize("no_color", [False, True], ids=["colours", "NO_COLOR"])
def test_errors_are_red_at_a_terminal(
    folder: Path, environment: dict[str, str], no_color: bool
) -> None:
    given = {**environment, **({"NO_COLOR": "1"} if no_color else {})}
    printed = pexpect.run(
        f"{BIN}/omnigraph commit show nothing", cwd=str(folder), env=given, encoding="utf-8"
    )

    assert "error[commit_not_found]" in printed
    assert ("\x1b[31m" in printed) is not no_color


def test_nothing_is_coloured_in_a_pipe(folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["omnigraph", "commit", "show", "nothing"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert b"\x1b" not in done.stderr


def test_a_reader_that_closes_the_pipe_ends_a_command_quietly(
    folder: Path, environment: dict[str, str]
) -> None:
    # More than a pipe holds.
    pieces = " ".join(f"$p{number}: Person" for number in range(14))
    names = ", ".join(f"$p{number}.name as n{number}" for number in range(14))
    query = f"query q() {{ match {{ {pieces} }} return {{ {names} }} }}"
    done = subprocess.run(
        f"omnigraph read -e '{query}' --format csv | head -1",
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )

    assert done.stdout.startswith(b"n0,n1,")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_ctrl_c_ends_a_command_with_130_and_no_traceback(
    folder: Path, environment: dict[str, str]
) -> None:
    running = subprocess.Popen(
        ["omnigraph", "load", "--data", "-", "--engine", "inline"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)

    assert running.returncode == 130
    assert told == b"interrupted\n"


INTERRUPTED_AT = {
    "an import": "class Stop:\n"
    "    def find_spec(self, name, *_):\n"
    "        if name == 'click':\n"
    "            raise KeyboardInterrupt\n"
    "sys.meta_path.insert(0, Stop())\n",
    "its options": "import click\n"
    "def stop(*_):\n"
    "    raise KeyboardInterrupt\n"
    "click.Group.parse_args = stop\n",
    "its end": "from omnigraph.cli import main\n"
    "def stop():\n"
    "    raise KeyboardInterrupt\n"
    "main.leave = stop\n",
}


@pytest.mark.parametrize("at", INTERRUPTED_AT)
def test_ctrl_c_before_or_after_a_command_ends_it_in_the_same_way(at: str) -> None:
    start = "from omnigraph.cli.start import main as start\nstart()"
    code = f"import sys\nsys.argv = ['omnigraph', 'version']\n{INTERRUPTED_AT[at]}{start}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.stderr == b"interrupted\n"
    assert done.returncode == 130


LSP_BODY = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize",'
    b'"params":{"capabilities":{},"processId":null,"rootUri":null}}'
)
HANDSHAKES = {
    "lsp": b"Content-Length: %d\r\n\r\n%s" % (len(LSP_BODY), LSP_BODY),
    "mcp serve": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
    b'"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n',
}


@contextmanager
def answering(
    folder: Path, environment: dict[str, str], command: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a command that reads standard input, after it answered the handshake."""
    pipe = subprocess.PIPE
    words = ["omnigraph", *command.split()]
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            running.stdin.write(HANDSHAKES[command])
            running.stdin.flush()
            assert running.stdout.readline(), "nobody answered the handshake"
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize("command", HANDSHAKES)
def test_ctrl_c_ends_a_command_that_reads_standard_input_on_a_thread(
    folder: Path, environment: dict[str, str], command: str
) -> None:
    with answering(folder, environment, command) as running:
        assert running.stderr is not None
        running.send_signal(signal.SIGINT)
        running.wait(60)  # its standard input stays open
        assert running.stderr.read().endswith(b"interrupted\n")
        assert running.returncode == 130


def test_ctrl_c_ends_such_a_command_also_where_nobody_reads_standard_error(
    folder: Path, environment: dict[str, str]
) -> None:
    with answering(folder, environment, "lsp") as running:
        assert running.stderr is not None
        running.stderr.close()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130


ASLEEP = """\
import signal, threading
from omnigraph.cli.program import ended_by_interrupt
with ended_by_interrupt():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    print("asleep", flush=True)
    threading.Event().wait()
"""


def test_ctrl_c_ends_such_a_command_also_while_its_main_thread_sleeps_through_it() -> None:
    # As where the signal comes between its last look for signals and its sleep.
    running = subprocess.Popen(
        [sys.executable, "-c", ASLEEP], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    try:
        assert running.stdout.readline() == b"asleep\n"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
        assert told == b"interrupted\n"
        assert running.returncode == 130
    finally:
        running.kill()
        running.communicate()
