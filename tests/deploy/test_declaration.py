"""Every broken file of a deployment is told with file and line, all at once."""

from pathlib import Path

import pytest

from omnigraph.deploy.declaration import read_declaration
from omnigraph.deploy.ledger import Ledger
from omnigraph.errors import DeclarationError
from tests.deploy.folder import CLUSTER, POLICY, write


def problems(folder: Path) -> list[str]:
    with pytest.raises(DeclarationError) as raised:
        read_declaration(folder)
    assert Ledger.at(str(folder)).current() is None
    return [str(each) for each in raised.value.file_problems]


def test_a_right_folder_is_read_with_the_texts_of_all_files(tmp_path: Path) -> None:
    found = read_declaration(write(tmp_path))

    assert found.definition.name == "brain"
    assert list(found.definition.graphs["people"].queries) == ["everyone", "add"]
    assert found.definition.policies["base"].applies_to == ("people",)
    assert found.storage == str(tmp_path)


def test_problems_of_all_files_are_told_together(tmp_path: Path) -> None:
    write(
        tmp_path,
        cluster__yaml=CLUSTER.replace("metadata:", "metdata:") + "extra: 1\n",
        people__pg="node Person { name: Strin @key }",
        base__policy__yaml=POLICY.replace("[invoke_query]", "[invoke_qery]"),
    )
    (tmp_path / "queries/more.gq").write_text("\nquery add() { delete Person where name = 1 }\n")

    found = problems(tmp_path)

    assert any(each.startswith("cluster.yaml:2: unknown key 'metdata'") for each in found)
    assert any(each.startswith("cluster.yaml:10: unknown key 'extra'") for each in found)
    assert any(each.startswith("people.pg:1: ") for each in found)
    assert any("base.policy.yaml:4: " in each and "invoke_qery" in each for each in found)
    twin = "queries/people.gq:4: query 'add' is also in queries/more.gq:2"
    assert any(each.startswith(twin) for each in found)


def test_a_query_that_its_file_does_not_have_is_told_by_the_path_in_the_folder(
    tmp_path: Path,
) -> None:
    queries = "queries: {evryone: {file: queries/people.gq}}"
    write(tmp_path, cluster__yaml=CLUSTER.replace("queries: queries/", queries))

    told = "queries/people.gq:1: the file has no query 'evryone'; did you mean 'everyone'?"
    assert problems(tmp_path) == [told]


def test_a_query_that_does_not_fit_its_schema_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "queries/bad.gq").write_text(
        "query x() {\n  match { $c: City }\n  return { $c }\n}"
    )

    assert problems(tmp_path)[0].startswith("queries/bad.gq:2: T1: ")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("applies_to: [people]", "applies_to: [poeple]", "unknown graph 'poeple'; did you mean"),
        ("schema: people.pg", "schema: ../people.pg", "leaves the folder"),
        ("schema: people.pg", "schema: /etc/passwd", "leaves the folder"),
        ("schema: people.pg", "schema: none.pg", "no such file"),
        ("queries: queries/", "queries: [nix.gq]", "no such file"),
        ("  people:\n", "  People:\n", "cannot name a graph"),
        ("  people:\n", "  cluster:\n", "cannot name a graph"),
        ("version: 1", "version: 2", "must be 1"),
        ("applies_to: [cluster]", "applies_to: [people]", "which 'base' is for"),
        ("applies_to: [cluster]", "applies_to: [cluster, people]", "not both"),
    ],
)
def test_a_wrong_declaration_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    write(tmp_path, cluster__yaml=CLUSTER.replace(old, new, 1))

    assert any(told in each for each in problems(tmp_path))


def test_a_key_in_clear_is_refused_and_not_shown(tmp_path: Path) -> None:
    provider = "providers:\n  embedding:\n    default: {kind: openai, api_key: sk-hidden}\n"
    write(tmp_path, cluster__yaml=CLUSTER + provider)

    found = problems(tmp_path)

    assert found == [
        "cluster.yaml:12: 'providers.embedding.default.api_key' holds a secret in clear;"
        " write a reference like ${KEY}"
    ]


def test_a_reference_is_kept_as_a_reference(tmp_path: Path) -> None:
    provider = "providers:\n  embedding:\n    one: {kind: openai, model: m, api_key: '${KEY}'}\n"
    graph = CLUSTER.replace("queries: queries/", "queries: queries/\n    embedding_provider: one")
    found = read_declaration(write(tmp_path, cluster__yaml=graph + provider)).definition

    assert found.graphs["people"].provider == "one"
    assert found.providers["one"].settings["api_key"] == "${KEY}"


@pytest.mark.parametrize("name", ["people.pg", "queries/people.gq", "base.policy.yaml"])
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "inside")
    outside = tmp_path / "outside"
    outside.write_text((folder / name).read_text())
    (folder / name).unlink()
    (folder / name).symlink_to(outside)

    assert any("by the link" in each for each in problems(folder))


def test_the_state_of_other_releases_is_accepted_and_said_to_have_no_effect(
    tmp_path: Path,
) -> None:
    state = "state: {backend: cluster, lock: true}\n"

    assert len(read_declaration(write(tmp_path, cluster__yaml=CLUSTER + state)).notes) == 1


def test_roles_name_groups_of_the_policy_of_the_graph(tmp_path: Path) -> None:
    named = "queries:\n      add: {file: queries/people.gq, roles: [%s]}"
    text = CLUSTER.replace("queries: queries/", named % "writers")
    write(tmp_path, cluster__yaml=text)
    assert read_declaration(tmp_path).definition.graphs["people"].queries["add"].roles

    write(tmp_path, cluster__yaml=CLUSTER.replace("queries: queries/", named % "writer"))
    assert "unknown role 'writer'; did you mean 'writers'?" in problems(tmp_path)[0]
