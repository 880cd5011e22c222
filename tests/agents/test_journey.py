"""Journey: from an empty folder to a fact that was proposed, reviewed and merged by agents."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.agents.agent import ROOT, SECONDS, over_stdio

SCHEMA = """
node Person { slug: String @key  name: String @index }
node Company { slug: String @key  name: String }
node Source { slug: String @key  url: String }
edge WorksAt: Person -> Company { role: String? }
edge ToldBy: Person -> Source
"""
POLICY = """
version: 1
groups: {scouts: [scout], reviewers: [rita]}
protected_branches: [main]
rules:
  - {id: read, allow: {actors: {group: scouts}, actions: [read], branch_scope: any}}
  - id: draft
    allow: {actors: {group: scouts}, actions: [change, review], branch_scope: unprotected}
  - id: branch
    allow: {actors: {group: scouts}, actions: [branch_create], target_branch_scope: unprotected}
  - {id: all, allow: {actors: {group: reviewers}, actions: [read, change], branch_scope: any}}
  - id: merge
    allow: {actors: {group: reviewers}, actions: [branch_merge], target_branch_scope: any}
"""
HIRE = """
query hire($slug: String, $name: String, $company: String, $role: String, $source: String) {
  insert Person { slug: $slug, name: $name }
  insert WorksAt { from: $slug, to: $company, role: $role }
  insert ToldBy { from: $slug, to: $source }
}
"""
WHERE = """
query who($company: String) {
  match { $p: Person  $p $job:worksAt $c  $c.slug = $company }
  return { $p.name as name, $job.role as role }
  order { name }
}
"""
ROWS = (
    '{"type":"Company","data":{"slug":"mill","name":"The Mill"}}\n'
    '{"type":"Source","data":{"slug":"gazette","url":"https://gazette.example/7"}}'
)


def _run(folder: Path, *words: str, **more: Any) -> str:
    program = [sys.executable, "-c", "from omnigraph.cli.main import main; main()"]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*program, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        **more,
    )
    return done.stdout


async def test_a_fact_is_proposed_reviewed_and_merged(tmp_path: Path) -> None:
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "omnigraph.yaml").write_text(
        "graphs: {people: {uri: people.omni}}\ncli: {graph: people}\npolicy: {file: policy.yaml}\n"
    )
    _run(tmp_path, "init", "people.omni", "--schema", "people.pg")

    async with over_stdio("--actor", "scout", folder=tmp_path) as scout:
        words: Any = await scout.client.get_prompt(
            "propose_change", {"request": "Ada works at the Mill as a miller"}
        )
        assert "Do not merge" in words.messages[0].content.text
        assert "WorksAt Person->Company (0)" in (await scout.done("schema")).text
        assert (await scout.done("search", text="Ada")).rows == []
        await scout.done("load", rows=ROWS, message="who is meant")
        wrong = await scout.refused("query", query=WHERE.replace("worksAt", "workAt"), params={})
        assert "did you mean 'worksAt'?" in wrong
        assert "0 errors" in (await scout.done("lint", query=HIRE)).text
        fact = {"slug": "ada", "name": "Ada", "company": "mill", "source": "gazette"}
        missing = await scout.refused("change", query=HIRE, params=fact)
        assert "role" in missing
        made = await scout.done(
            "change", query=HIRE, params={**fact, "role": "miller"}, message="The Gazette, p. 7"
        )
        branch = made.branch
        assert branch.startswith("agent/scout/")
        proposal = (await scout.done("propose", message="Ada, from the Gazette")).text
        assert "fast_forward" in proposal
        assert "error[denied]" in await scout.refused("merge")
        assert (await scout.done("query", query=WHERE, params={"company": "mill"})).rows == []

    async with over_stdio("--actor", "rita", folder=tmp_path) as rita:
        words = await rita.client.get_prompt("review_branch", {"branch": branch})
        assert branch in words.messages[0].content.text
        assert "from the Gazette" in (await rita.done("review", branch=branch)).text
        changes = (await rita.done("diff", new=branch)).rows
        assert {each[1] for each in changes} == {
            *("Person", "Company", "Source", "WorksAt", "ToldBy"),
        }
        (told,) = [
            each
            for each in (await rita.done("blame", type="Person", id="ada", branch=branch)).rows
            if each[0] == "name"
        ]
        assert (told[2], told[5]) == ("scout", "The Gazette, p. 7")
        fix = 'query f() { update WorksAt set { role: "head miller" } where from = "ada" }'
        await rita.done("change", query=fix, branch=branch, message="as the page says")
        merged = await rita.done("merge", source=branch, message="reviewed")
        assert merged.text.startswith("fast_forward")
        rows = (await rita.done("query", query=WHERE, params={"company": "mill"})).rows
        assert rows == [["Ada", "head miller"]]

    listed = _run(tmp_path, "read", "-e", WHERE, "--params", '{"company": "mill"}', "--json")
    assert "head miller" in listed
