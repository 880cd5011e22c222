"""Translation: a text of Cypher or SQL as the same question in this language.

Only the shape is translated, from the names in the text. What goes beyond it is answered with the
nearest form of this language.
"""

import re
from collections.abc import Callable, Mapping
from itertools import count

_FLAGS = re.IGNORECASE | re.DOTALL
_NODE = re.compile(r"\(\s*(\w*)\s*(?::\s*(\w+))?\s*(\{[^{}]*\})?\s*\)")
_LINK = re.compile(r"\s*(<)?-(?:\[\s*(\w*)\s*(?::\s*(\w+))?\s*(\*[\d.]*)?\s*\])?-(>)?\s*")
_CYPHER_CLAUSE = re.compile(r"\b(match|where|return|order\s+by|skip|limit)\b", _FLAGS)
_SQL_CLAUSE = re.compile(r"\b(select|from|where|group\s+by|order\s+by|limit)\b", _FLAGS)
_SQL_INSERT = re.compile(
    r"\s*insert\s+into\s+(\w+)\s*\(([^()]*)\)\s*values\s*\(([^()]*)\)\s*;?\s*", _FLAGS
)
_SQL_UPDATE = re.compile(r"\s*update\s+(\w+)\s+set\s+(.+?)\s+where\s+(.+?)\s*;?\s*", _FLAGS)
_SQL_DELETE = re.compile(r"\s*delete\s+from\s+(\w+)\s+where\s+(.+?)\s*;?\s*", _FLAGS)
_WORDS = {"and", "or", "not", "in", "is", "null", "true", "false", "contains", "asc", "desc", "as"}
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*" | \w+(?:\.\w+|\.\*)* \s*\(? | <> | \$\w+ | . """,
    re.VERBOSE | re.DOTALL,
)


def _of_cypher(text: str) -> str | None:
    read = _clauses(text, _CYPHER_CLAUSE)
    if read is None or not {"match", "return"} <= read.keys():
        return None
    clauses: list[str] = []
    numbers = count(1)
    for pattern in _split(read["match"]):
        found = _pattern(pattern.strip(), numbers)
        if found is None:
            return None
        clauses += found
    names = {word[1:] for clause in clauses for word in re.findall(r"\$\w+", clause)}

    def name(word: str) -> str:
        return f"${word}" if word.partition(".")[0] in names else word

    return _read(clauses, read, read["return"], name)


def _clauses(text: str, keyword: re.Pattern[str]) -> dict[str, str] | None:
    """Return what follows each keyword; None when one of them comes twice."""
    found = list(keyword.finditer(text))
    if not found or text[: found[0].start()].strip():
        return None
    ends = [each.start() for each in found[1:]] + [len(text)]
    names = [" ".join(each.group().lower().split()) for each in found]
    if len(set(names)) < len(names):
        return None
    parts = [text[each.end() : end] for each, end in zip(found, ends, strict=True)]
    return {name: part.strip().rstrip(";") for name, part in zip(names, parts, strict=True)}


def _pattern(text: str, numbers: "count[int]") -> list[str] | None:
    """Return the clauses of `(p:Person)-[:KNOWS]->(q)`."""
    clauses: list[str] = []
    at, before, link = 0, "", None
    while (node := _NODE.match(text, at)) is not None:
        variable = node[1] or f"v{next(numbers)}"
        if node[2]:
            given = _expression(node[3] or "", lambda word: word)
            clauses.append(f"${variable}: {_type(node[2])} {given}".rstrip())
        if link is not None:
            clauses.append(_traversal(before, link, variable))
        at, before = node.end(), variable
        link = _LINK.match(text, at)
        if link is None:
            return clauses if at == len(text) else None
        at = link.end()
    return None


def _traversal(source: str, link: "re.Match[str]", target: str) -> str:
    backward, variable, kind, hops, forward = link.groups()
    edge = _edge(kind or "edge")
    if not backward and not forward:
        edge = f"<{edge}>"
    if backward:
        source, target = target, source
    named = f"${variable}:" if variable else ""
    return f"${source} {named}{edge}{_hops(hops)} ${target}"


def _hops(text: str | None) -> str:
    if not text:
        return ""
    least, dots, most = text[1:].partition("..")
    return f"{{{least or 1},{most}}}" if dots or not least else f"{{{least}}}"


def _of_sql(text: str) -> str | None:
    read = _clauses(text, _SQL_CLAUSE)
    if read is not None and "select" in read:
        return _of_select(read)
    if (new := _SQL_INSERT.fullmatch(text)) is not None:
        columns, values = _split(new[2]), _split(new[3])
        if len(columns) != len(values):
            return None
        given = [
            f"{column.strip()}: {_expression(value, _same)}"
            for column, value in zip(columns, values, strict=True)
        ]
        return f"query add() {{ insert {_type(new[1])} {{ {', '.join(given)} }} }}"
    if (update := _SQL_UPDATE.fullmatch(text)) is not None:
        sets = [part.partition("=") for part in _split(update[2])]
        given = [f"{column.strip()}: {_expression(value, _same)}" for column, _, value in sets]
        where = _expression(update[3], _same)
        values_text = ", ".join(given)
        return (
            f"query change() {{ update {_type(update[1])} set {{ {values_text} }} where {where} }}"
        )
    if (delete := _SQL_DELETE.fullmatch(text)) is not None:
        where = _expression(delete[2], _same)
        return f"query remove() {{ delete {_type(delete[1])} where {where} }}"
    return None


def _of_select(read: dict[str, str]) -> str | None:
    table = read.get("from", "").strip()
    if not re.fullmatch(r"\w+", table):
        return None
    variable = table[0].lower()

    def name(word: str) -> str:
        return f"${variable}.{word.rpartition('.')[2]}"

    return _read([f"${variable}: {_type(table)}"], read, read["select"], name)


def _same(word: str) -> str:
    return word


def _read(clauses: list[str], parts: dict[str, str], items: str, name: Callable[[str], str]) -> str:
    """Return a read of some clauses, with what another language says beside them."""
    if "where" in parts:
        clauses = [*clauses, _expression(parts["where"], name)]
    plain = re.sub(r"^\s*distinct\s+", "", items, flags=re.IGNORECASE)
    shown = ", ".join(_item(each, name) for each in _split(plain))
    distinct = "distinct " if plain != items else ""
    text = f"match {{ {'  '.join(clauses)} }} return {distinct}{{ {shown} }}"
    if "order by" in parts:
        text += f" order {{ {_expression(parts['order by'], name)} }}"
    for word in ("skip", "limit"):
        text += f" {word} {parts[word].strip()}" if word in parts else ""
    return text


def _item(text: str, name: Callable[[str], str]) -> str:
    text = text.strip()
    if text == "*":
        return name("*")
    value, _, alias = re.sub(r"\s+as\s+(\w+)$", r"\0\1", text, flags=re.IGNORECASE).partition("\0")
    found = _expression(value, name)
    return f"{found} as {alias}" if alias else found


def _expression(text: str, name: Callable[[str], str]) -> str:
    """Return conditions and values in this language, names as `name` writes them."""
    text = re.sub(r"\bstarts\s+with\b", "starts_with", text.strip(), flags=re.IGNORECASE)
    return "".join(_word(found.group(), name) for found in _TOKEN.finditer(text)).strip()


def _word(token: str, name: Callable[[str], str]) -> str:
    if token[0] == "'":
        inner = token[1:-1].replace("''", "'").replace('"', '\\"')
        return f'"{inner}"'
    if token == "<>":  # noqa: S105 - a sign
        return "!="
    if not (token[0].isalpha() or token[0] == "_"):
        return token
    word = token.rstrip("( \t\n")
    rest = token[len(word) :]
    if word.lower() in _WORDS or word == "starts_with" or "(" in rest:
        return word.lower() + rest
    return name(word) + rest


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no parentheses, brackets or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _type(name: str) -> str:
    return name[0].upper() + name[1:]


def _edge(name: str) -> str:
    """Return the name of an edge in a traversal: WORKS_AT and WorksAt are worksAt."""
    if name.isupper() or "_" in name:
        first, *others = name.lower().split("_")
        return first + "".join(each.capitalize() for each in others)
    return name[0].lower() + name[1:]


TRANSLATIONS: Mapping[str, Callable[[str], str | None]] = {"Cypher": _of_cypher, "SQL": _of_sql}
