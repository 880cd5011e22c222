"""Scope: the branches and types that a cleanup or a check is limited to."""

from collections.abc import Iterable, Mapping
from typing import Self

from omnigraph.errors import BranchNotFoundError, TableNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import is_system, normalize_name


@dataclass(frozen=True, slots=True)
class Scope:
    """Names of branches and of types; an empty part stands for all of them."""

    branches: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    @classmethod
    def of(cls, branches: Iterable[str] | None, types: Iterable[str] | None) -> Self:
        """Return the scope that a caller names."""
        return cls(frozenset(map(normalize_name, branches or ())), frozenset(types or ()))

    @property
    def is_all(self) -> bool:
        return not (self.branches or self.types)

    def check(self, branches: Iterable[str], catalogs: Iterable[Catalog]) -> None:
        """Raise BranchNotFoundError or TableNotFoundError for a name that the graph lacks."""
        known = [each for each in branches if not is_system(each)]
        for name in sorted(self.branches.difference(known)):
            raise BranchNotFoundError(f"no branch '{name}'", hint=suggest(name, sorted(set(known))))
        types = [name for each in catalogs for name in (*each.nodes, *each.edges)]
        for name in sorted(self.types.difference(types)):
            raise TableNotFoundError(f"no type '{name}'", hint=suggest(name, sorted(set(types))))

    def has_branch(self, name: str) -> bool:
        """Whether a branch is among those that are meant."""
        return not self.branches or name in self.branches

    def commits(self, commits: Mapping[str, Commit], heads: Mapping[str, str]) -> set[str]:
        """Return the commits of the branches that are meant, from their heads back.

        What a branch has in common with another belongs to the one for which it was made. That
        alone does not tell: a branch may be renamed, and another get its name.
        """
        if not self.branches:
            return set(commits)
        own = {each: at for each, at in heads.items() if each in self.branches}
        others = {each: at for each, at in heads.items() if each not in own and not is_system(each)}
        shared = _line(commits, others.values())
        made = (each for each, commit in commits.items() if commit.branch in self.branches)
        return _line(commits, own.values()) - (shared - set(made))

    def keys(self, catalog: Catalog) -> set[str]:
        """Return the table keys of the types that are meant."""
        types = catalog.by_identity.items()
        return {key for key, stored in types if not self.types or stored.name in self.types}

    def keys_with_ends(self, catalog: Catalog) -> set[str]:
        """Return the table keys of these types and of the nodes at which edges of them end."""
        keys = self.keys(catalog)
        edges = (each for each in map(catalog.by_identity.get, keys) if isinstance(each, EdgeType))
        ends = {name for edge in edges for name in (edge.source, edge.target)}
        return keys | {catalog.nodes[name].identity for name in ends}


def _line(commits: Mapping[str, Commit], heads: Iterable[str]) -> set[str]:
    """Return the commits at which branches stood on the way to their heads, as far as known."""
    found: set[str] = set()
    for head in heads:
        commit = commits.get(head)
        while commit is not None and commit.id not in found:
            found.add(commit.id)
            commit = commits.get(commit.parent or "")
    return found


WHOLE_GRAPH = Scope()
