"""Compiling: text to plan, warm and as a fresh command, beside a generated LALR parser."""

import subprocess
import sys
import tempfile
from pathlib import Path

from lark import Lark

from bench.record import Timing, measure, over, store
from omnigraph import Source, compile_query, compile_schema
from omnigraph.query.parsing.parser import parse_queries
from omnigraph.syntax.problems import Problems

SCHEMA = """
node Person { slug: String @key  name: String  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
edge Contains: Company -> Person
"""
QUERY = """query colleagues($name: String, $min: I32, $n: I64) @description("friends at work") {
  match {
    $p: Person { slug: $name }
    $p knows {1,2} $f
    $f.age > $min and $f.name != $p.name
    $f worksAt $c
    not { $c contains $p }
  }
  return { $f.name as friend, count($c) as companies }
  order { companies desc, friend }
  limit $n
}
"""
GRAMMAR = Path(__file__).with_name("core.lark")
COMMAND = Path(sys.executable).parent / "omnigraph"


def main() -> None:
    """Measure, print and store."""
    catalog = compile_schema(SCHEMA)
    generated = Lark(GRAMMAR.read_text(), parser="lalr")
    parse = measure(_parse, runs=500, warm_up=100)
    whole = measure(lambda: compile_query(QUERY, catalog), runs=500, warm_up=100)
    peer = measure(lambda: generated.parse(QUERY), runs=500, warm_up=100)
    show_help = _command("--help")
    lint = _lint_of_twenty()
    parser_ready = _python("import omnigraph.query.parsing.parser")
    lark_ready = _python(
        f"from lark import Lark; Lark(open({str(GRAMMAR)!r}).read(), parser='lalr')"
    )
    ratio = over(peer, parse)
    for label, timing in (
        (f"text to plan, {len(QUERY)} characters, warm", whole),
        ("the parse tree alone, warm", parse),
        ("lark LALR, the parse tree alone, warm", peer),
        ("python -c, parser imported, cold", parser_ready),
        ("python -c, lark imported and tables built", lark_ready),
        ("omnigraph --help, cold", show_help),
        ("omnigraph query lint, 20 queries, cold", lint),
    ):
        print(f"{label:45} {timing}")
    print(f"{'lark over our parser, warm':45} {ratio}")
    findings = {
        "characters": len(QUERY),
        "text_to_plan_warm": whole,
        "parse_tree_warm": parse,
        "lark_parse_tree_warm": peer,
        "lark_over_parse_warm": ratio,
        "parser_ready_cold": parser_ready,
        "lark_ready_cold": lark_ready,
        "help_cold": show_help,
        "lint_20_queries_cold": lint,
    }
    path = store("compile", ["click", "google-re2", "lark"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def _parse() -> None:
    parse_queries(Source("bench.gq", QUERY), Problems())


def _python(code: str) -> Timing:
    command = [sys.executable, "-c", code]
    return measure(lambda: subprocess.run(command, check=True), runs=15, warm_up=2)


def _lint_of_twenty() -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        schema, queries = Path(folder, "s.pg"), Path(folder, "q.gq")
        schema.write_text(SCHEMA)
        queries.write_text("\n".join(QUERY.replace("colleagues", f"q{n}") for n in range(20)))
        return _command("query", "lint", "--query", str(queries), "--schema", str(schema))


def _command(*arguments: str) -> Timing:
    command = [str(COMMAND), *arguments]
    return measure(
        lambda: subprocess.run(command, check=True, capture_output=True), runs=15, warm_up=2
    )


if __name__ == "__main__":
    main()
