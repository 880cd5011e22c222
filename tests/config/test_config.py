"""The file `omnigraph.yaml`: what it can say, and how it is refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.server.config import (
    _TOP,
    AliasConfig,
    CliConfig,
    Config,
    GraphConfig,
    PolicyConfig,
    ServerConfig,
    find_config,
    load_config,
    scaffold,
)
from omnigraph.spark.settings import SparkSettings

FULL = """
project: {name: Social}
graphs:
  local:
    uri: data/people.omni
  bucket:
    uri: s3://bucket/people
  shared:
    uri: https://graph.example
    bearer_token_env: SHARED_TOKEN
server:
  graph: local
  bind: 127.0.0.1:8080
cli:
  graph: shared
  branch: review/hires
  output_format: jsonl
  table_max_column_width: 40
  table_cell_layout: wrap
query:
  roots: [queries, /opt/queries]
auth:
  env_file: ./.env.omni
aliases:
  friends:
    command: read
    query: people.gq
    name: friends_of
    args: [name, hops]
    graph: local
    branch: main
    format: csv
  add: {command: change, query: add.gq}
policy:
  file: ./policy.yaml
  tests: tests/policy.yaml
spark:
  master: local[4]
  conf:
    spark.driver.memory: 2g
    spark.task.cpus: 2
    spark.speculation: true
"""


def test_everything_that_a_file_can_say_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, FULL)
    assert load_config(path) == Config(
        path=path,
        project="Social",
        graphs={
            "local": GraphConfig(str(tmp_path / "data/people.omni")),
            "bucket": GraphConfig("s3://bucket/people"),
            "shared": GraphConfig("https://graph.example", "SHARED_TOKEN"),
        },
        server=ServerConfig("local", "127.0.0.1:8080"),
        cli=CliConfig("shared", "review/hires", "jsonl", 40, "wrap"),
        query_roots=(tmp_path / "queries", Path("/opt/queries")),
        env_file=tmp_path / ".env.omni",
        aliases={
            "friends": AliasConfig(
                "read", "people.gq", "friends_of", ("name", "hops"), "local", "main", "csv"
            ),
            "add": AliasConfig("change", "add.gq"),
        },
        policy=PolicyConfig(tmp_path / "policy.yaml", tmp_path / "tests/policy.yaml"),
        spark=SparkSettings(
            "local[4]",
            conf={
                "spark.driver.memory": "2g",
                "spark.task.cpus": "2",
                "spark.speculation": "true",
            },
        ),
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "cli:\ngraphs:\nspark: {conf: }\n"])
def test_what_is_not_said_has_a_default(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert load_config(path) == Config(path=path)


def test_relative_paths_are_meant_from_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "graphs: {a: {uri: a.omni}}\npolicy: {file: p.yaml}\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", "/home/me")

    config = load_config(Path("../omnigraph.yaml"))

    assert Path(config.graphs["a"].uri).resolve() == tmp_path / "a.omni"
    assert (config.policy.file or Path()).resolve() == tmp_path / "p.yaml"
    home = load_config(written(tmp_path, "graphs: {a: {uri: ~/a.omni}}"))
    assert home.graphs["a"].uri == "/home/me/a.omni"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("grphs: {}", "1: unknown key 'grphs'; did you mean 'graphs'?"),
        ("project:\n  titel: x", "2: unknown key 'project.titel'; expected name"),
        (
            "graphs:\n  a: {uri: a.omni, token: T}",
            "2: unknown key 'graphs.a.token'; expected uri, bearer_token_env",
        ),
        ("graphs:\n  a: {}", "2: 'graphs.a.uri' is missing"),
        ("graphs:\n  a:", "1: 'graphs.a.uri' is missing"),
        ("graphs:\n  a: {uri: ''}", "2: 'graphs.a.uri' is empty"),
        ("graphs: [a]", "1: 'graphs' must be a mapping, not a list"),
        ("graphs:\n  a: a.omni", "2: 'graphs.a' must be a mapping, not text"),
        ("graphs: {2024: {uri: a}}", "1: 'graphs.2024' must be text, not a number; put it"),
        ("project: {name: 7}", "1: 'project.name' must be text, not a number; put it in quo"),
        ("cli: {branch: on}", "1: 'cli.branch' must be text, not true or false; put it in"),
        ("cli: {branch: 2024-01-01}", "1: 'cli.branch' must be text, not a date"),
        ("cli: {branch: !x y}", "1: 'cli.branch' must be text, not of the unknown kind !x"),
        ("cli: {output_format: tabel}", "1: 'cli.output_format' cannot be 'tabel'; did you mean"),
        ("cli: {table_max_column_width: wide}", "1: 'cli.table_max_column_width' must be a nu"),
        ("cli: {table_max_column_width: 0}", "1: 'cli.table_max_column_width' must be a whole n"),
        ("cli: {graph: a}", "1: 'cli.graph' cannot be 'a'; the file defines none"),
        (
            "graphs: {people: {uri: x}}\ncli: {graph: peopel}",
            "2: 'cli.graph' cannot be 'peopel'; did you mean 'people'?",
        ),
        ("server: {bind: 8080}", "1: 'server.bind' must be text, not a number"),
        ("server: {bind: localhost}", "1: 'server.bind' is an address and a port like 127.0.0.1"),
        ("server: {bind: 'localhost:99999'}", "1: 'server.bind' is an address and a port like"),
        ("query: {roots: queries}", "1: 'query.roots' must be a list, not text"),
        ("query: {roots: [a, [b]]}", "1: 'query.roots[1]' must be text, not a list"),
        ("aliases: {a: {command: reed, query: q}}", "1: 'aliases.a.command' cannot be 'reed'; did"),
        ("aliases: {a: {command: read}}", "1: 'aliases.a.query' is missing"),
        ("spark: {master: local, remote: sc://x}", "1: 'spark.remote' and 'spark.master' exclude"),
        ("spark: {conf: {a: [1]}}", "1: 'spark.conf.a' must be text, not a list"),
        ("spark: {conf: {spark.master: local}}", "1: 'spark.conf' cannot hold 'spark.master'; wri"),
        ("- a", "1: the file must be a mapping, not a list"),
        ("cli: {branch: a}\nproject: {}\ncli: {}", "3: 'cli' is repeated"),
        ("cli:\n  branch: a\n  branch: b", "3: 'cli.branch' is repeated"),
        ("a: &a {name: x}\nproject: *a", "2: the alias '*a' is not allowed"),
        ("project: {name: x", "1: expected ',' or '}', but got '<stream end>'"),
        ("project: {}\n---\ncli: {}", "2: but found another document"),
        ("project: 'x", "1: found unexpected end of stream"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    assert raised.value.message.startswith(f"{path}:{problem}")
    assert "\n" not in raised.value.message
    assert raised.value.code == "config_invalid"


def test_everything_that_is_wrong_is_told_at_once_and_in_order(tmp_path: Path) -> None:
    text = "cli: {grph: a}\nproject: {name: 1}\n" + "".join(f"x{n}: 1\n" for n in range(30))
    with pytest.raises(ConfigError) as raised:
        load_config(written(tmp_path, text))
    lines = raised.value.message.splitlines()
    assert "unknown key 'cli.grph'" in lines[0]
    assert "'project.name'" in lines[1]
    assert len(lines) == 21
    assert lines[-1] == "… and 12 more"


def test_every_alias_and_unfit_text_is_told_beside_what_is_no_yaml(tmp_path: Path) -> None:
    text = 'a: *b\nc: [*b, *d]\ne: "\\0"\nf: {g: *b\n'
    with pytest.raises(ConfigError) as raised:
        load_config(written(tmp_path, text))
    told = [
        line.removeprefix(f"{tmp_path}/omnigraph.yaml:")
        for line in str(raised.value.message).splitlines()
    ]
    assert told == [
        "1: the alias '*b' is not allowed",
        "2: the alias '*b' is not allowed",
        "2: the alias '*d' is not allowed",
        "3: a text has a NUL or half of a surrogate pair in it",
        "4: the alias '*b' is not allowed",
        "5: expected ',' or '}', but got '<stream end>'",
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe", "the text is not UTF-8"),
        (b"#" * 300_000, "has more than 262,144 bytes"),
        (b"[" * 100_000, "1: the nesting is deeper than 32$"),
        (b"a: \x01", "special characters are not allowed"),
    ],
    ids=["encoding", "size", "depth", "control"],
)
def test_a_file_that_is_no_text_of_ours_is_refused(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    path = tmp_path / "omnigraph.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=problem):
        load_config(path)


def test_a_file_is_found_in_the_folder_or_where_it_is_said_to_be(tmp_path: Path) -> None:
    assert find_config(None, tmp_path) is None
    path = written(tmp_path, "project: {name: here}")
    other = tmp_path / "other.yaml"
    other.write_text("project: {name: other}")

    for explicit, expected in ((None, path), ("other.yaml", other), (str(other), other)):
        found = find_config(explicit, tmp_path)
        assert found is not None
        assert found.path == expected
    with pytest.raises(UnreadableError, match=r"no\.yaml': No such file"):
        find_config("no.yaml", tmp_path)


def test_a_graph_is_given_by_its_name(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "graphs: {people: {uri: s3://bucket/people}}"))
    assert config.graph("people").uri == "s3://bucket/people"
    with pytest.raises(ConfigError, match="has no graph 'peple'") as raised:
        config.graph("peple")
    assert raised.value.hint == "did you mean 'people'?"


def test_an_alias_is_given_by_its_name(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "aliases: {add: {command: change, query: add.gq}}"))
    assert config.alias("add") == AliasConfig("change", "add.gq")
    for name, hint in (("ad", "did you mean 'add'?"), ("other", "the aliases are: add")):
        with pytest.raises(ConfigError, match=f"has no alias '{name}'") as raised:
            config.alias(name)
        assert raised.value.hint == hint
    with pytest.raises(ConfigError, match="has no alias 'add'") as raised:
        load_config(written(tmp_path, "")).alias("add")
    assert raised.value.hint == "the file has none; write it below `aliases:`"


def test_an_alias_takes_each_parameter_once(tmp_path: Path) -> None:
    text = "aliases: {add: {command: change, query: add.gq, args: [name, name]}}"
    with pytest.raises(ConfigError, match=r"'aliases\.add\.args' names a parameter twice"):
        load_config(written(tmp_path, text))


def test_a_query_file_is_looked_for_beside_the_file_and_below_the_roots(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "query: {roots: [a, b]}"))
    for place in ("b/x.gq", "a/y.gq", "y.gq"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    assert config.query_file("x.gq") == tmp_path / "b/x.gq"
    assert config.query_file("y.gq") == tmp_path / "y.gq"
    assert config.query_file("none.gq") == tmp_path / "none.gq"
    assert config.query_file("/opt/q.gq") == Path("/opt/q.gq")


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("people.omni", "people"),
        ("/srv/graphs/no", "no"),
        ("s3://bucket/my people.omni/", "my-people"),
        ('odd "one": #1', "odd-one-1"),
        ("2024.omni", "2024"),
        ("..", "graph"),
        ("größe.omni", "größe"),
    ],
)
def test_a_new_file_names_its_graph_and_can_be_read(tmp_path: Path, uri: str, name: str) -> None:
    config = load_config(written(tmp_path, scaffold(uri)))
    expected = uri if "://" in uri else str(tmp_path / uri)
    assert config.graphs == {name: GraphConfig(expected)}
    assert config.project == config.cli.graph == name


def test_what_a_new_file_shows_in_comments_can_be_read_too(tmp_path: Path) -> None:
    lines = scaffold("people.omni").splitlines()[1:]
    plain = [re.sub(r"^( *)# ?", r"\1", line) for line in lines]
    config = load_config(written(tmp_path, "\n".join(plain)))
    assert [name for name in _TOP if f"{name}:" not in plain] == []
    assert config.spark == SparkSettings("local[4]", conf={"spark.driver.memory": "2g"})
    assert config.query_roots == (tmp_path / "queries",)
    assert config.cli == CliConfig("people", "main", "table")
    assert config.aliases["friends"].args == ("name",)


def test_reading_a_configuration_imports_nothing_heavy(tmp_path: Path) -> None:
    path = written(tmp_path, FULL)
    code = (
        "import sys; from pathlib import Path; from omnigraph.server.config import load_config\n"
        "assert 'yaml' not in sys.modules\n"
        f"load_config(Path({str(path)!r}))\n"
        "print(*({'lance', 'pyarrow', 'pyspark', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def written(folder: Path, text: str) -> Path:
    path = folder / "omnigraph.yaml"
    path.write_text(text)
    return path
