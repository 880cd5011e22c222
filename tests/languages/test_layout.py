"""Queries are laid out in one way, and mean what they meant."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from omnigraph import QueryError, format_queries
from omnigraph.cli.main import omnigraph
from tests.languages.casefile import read_cases

ROUGH = """
// all of them
query   people ( $n:I64 ,$t : [String]? )@description( "x" ){
 match{$p:Person{name:"a",age:-1}  // trailing
 $p knows{1,3}$q $p $e:worksAt $c  not{ $q <knows> $p }
 /* block */ $p.age>-3 and($q.age - 1) * 2<5 or not ($p.name in ["a" , "b"])
 optional { $p likes|loves $z  $z.name is not null }
 } return distinct{$p.name as a,count( * )-$p.age, collect({a:$p.name, b: collect(distinct $q.name
   order{$q.name desc} limit 3)}) as l} having{a="x"} order{a desc,$p.age} skip 1 limit $n }
query w(){insert Person{name:"a" age:1} update Person set{age:age+1} where name="a" }
"""
NEAT = """\
// all of them
query people($n: I64, $t: [String]?) @description("x") {
  match {
    $p: Person { name: "a", age: -1 }  // trailing
    $p knows{1,3} $q
    $p $e:worksAt $c
    not { $q <knows> $p }
    /* block */
    $p.age > -3 and ($q.age - 1) * 2 < 5 or not ($p.name in ["a", "b"])
    optional { $p likes|loves $z  $z.name is not null }
  }
  return distinct {
    $p.name as a,
    count(*) - $p.age,
    collect({ a: $p.name, b: collect(distinct $q.name order { $q.name desc } limit 3) }) as l
  }
  having { a = "x" }
  order { a desc, $p.age }
  skip 1
  limit $n
}

query w() {
  insert Person { name: "a" age: 1 }
  update Person set { age: age + 1 } where name = "a"
}
"""
TEXTS = sorted(
    {
        case.given["query"]
        for path in (Path(__file__).parent / "cases").glob("query*.case")
        for case in read_cases(path)
        if "query" in case.given
    }
)


def test_a_rough_text_becomes_neat() -> None:
    assert format_queries(ROUGH) == NEAT


def test_a_neat_text_stays_as_it_is() -> None:
    assert format_queries(NEAT) == NEAT
    assert format_queries("") == ""


@pytest.mark.parametrize(
    "text",
    [
        "query query() {\n  match { $p: P }\n  return { $p.n }\n}\n",
        "query limit($order: I64) {\n  match { $p: P }\n  return { $p.n }\n  limit $order\n}\n",
        "query q($a: enum(query, match)) {\n  match { $p: P }\n  return { $p.n }\n}\n",
        'update P set { n: "x" } where query = "a" and match = "b"\n',
        "delete P where order = 1 or limit is null\n",
    ],
)
def test_keywords_that_are_names_stay_where_they_are(text: str) -> None:
    assert format_queries(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$d.a as t -1 as m", "$d.a as t -1 as m"),
        ("$d.a as t - 1 as m", "$d.a as t - 1 as m"),
        ("$d.a as t -$d.b as m", "$d.a as t -$d.b as m"),
        ("$d.a -1 as m", "$d.a - 1 as m"),
        ("[ - 1,-1 ] as l, -(-2) as m", "[- 1, -1] as l, -(-2) as m"),
    ],
)
def test_a_minus_belongs_to_what_it_belonged_to(text: str, expected: str) -> None:
    found = format_queries(f"match {{ $d: P }} return {{ {text} }}")
    assert found == f"match {{ $d: P }}\nreturn {{ {expected} }}\n"


@pytest.mark.parametrize(
    "text",
    [
        "query q() {\n  match { $d: P }\n  return { $d.a }  // end\n}\n",
        "query q() {\n  match { $d: P }  // end\n  return { $d.a }\n}\n",
        'query q() {\n  insert P { a: "b" }  // end\n}\n',
    ],
)
def test_a_comment_behind_a_block_does_not_break_it(text: str) -> None:
    assert format_queries(text) == text


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_laid_out_once_stays_so(text: str) -> None:
    try:
        found = format_queries(text)
    except QueryError:
        return  # what cannot be read is not touched
    assert format_queries(found) == found


LONG_NOT = """\
query idle($city: String) {
  match {
    $p: Person
    not {
      $p worksAt $company
      $company.name = "A-rather-long-name-of-a-company"
      $company.city = $city
      // those who left do not count
      $company locatedIn $town  // now
    }
  }
  return { $p.name }
}
"""
COMMENTED_HEAD = """\
query idle($city:
// of birth
String) {
  match { $p: Person { city: $city } }
  return { $p.name }
}
"""


@pytest.mark.parametrize(
    "text", [LONG_NOT, LONG_NOT.replace("not {", "optional {"), COMMENTED_HEAD]
)
def test_comments_stay_where_they_are(text: str) -> None:
    assert format_queries(text) == text


@pytest.mark.parametrize("comment", [" // c\n", " /* c */ ", "\n// x\n"])
def test_a_comment_between_any_two_words_changes_nothing(comment: str) -> None:
    words = re.sub(r" *//.*", "", LONG_NOT).split(" ")
    for at in range(len(words)):
        text = " ".join(words[:at]) + comment + " ".join(words[at:])
        found = format_queries(text)
        assert _without_comments(found) == _without_comments(text)
        assert format_queries(found) == found


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/|\s", "", text)


def test_the_command_writes_files_and_tells_whether_it_would(tmp_path: Path) -> None:
    rough, neat = tmp_path / "rough.gq", tmp_path / "neat.gq"
    rough.write_text(ROUGH)
    neat.write_text(NEAT)
    runner = CliRunner()

    checked = runner.invoke(omnigraph, ["query", "fmt", "--check", str(rough), str(neat)])
    assert (checked.exit_code, checked.output.count("would be")) == (1, 1)
    assert rough.read_text() == ROUGH

    written = runner.invoke(omnigraph, ["query", "fmt", str(rough), str(neat)])
    assert written.exit_code == 0
    assert rough.read_text() == neat.read_text() == NEAT

    piped = runner.invoke(omnigraph, ["query", "fmt", "-"], input=ROUGH)
    assert piped.output == NEAT


def test_a_text_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gq"
    broken.write_text("query q() { match }")
    done = CliRunner().invoke(omnigraph, ["query", "fmt", str(broken)])
    assert done.exit_code == 1
    assert "error[Q000]" in done.output
    assert broken.read_text() == "query q() { match }"


def test_schemas_are_laid_out_by_a_command_too(tmp_path: Path) -> None:
    rough, neat = tmp_path / "rough.pg", tmp_path / "neat.pg"
    written = "// people\nnode Person {\n  name: String @key\n  age: I32?\n}\n"
    rough.write_text("// people\nnode Person{name:String @key\nage:I32? }")
    neat.write_text(written)
    runner = CliRunner()

    checked = runner.invoke(omnigraph, ["schema", "fmt", "--check", str(rough), str(neat)])
    assert (checked.exit_code, checked.output) == (1, f"{rough}: would be laid out anew\n")
    done = runner.invoke(omnigraph, ["schema", "fmt", str(rough), str(neat)])
    assert (done.exit_code, done.output) == (0, f"{rough}: laid out anew\n")
    assert rough.read_text() == neat.read_text() == written

    piped = runner.invoke(omnigraph, ["schema", "fmt", "-"], input="node  A{b:I32}")
    assert piped.output == "node A { b: I32 }\n"
    broken = runner.invoke(omnigraph, ["schema", "fmt", "-"], input="node {")
    assert (broken.exit_code, "error[S000]" in broken.output) == (1, True)
