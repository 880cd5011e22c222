"""Text of Cypher or SQL is answered with the same question in this language."""

import pytest

from omnigraph import QueryError, Source, compile_query, compile_schema
from omnigraph.query.compile import read_queries
from omnigraph.syntax.problems import Problems

CATALOG = compile_schema("""
node Person { slug: String @key  name: String  age: I32?  city: String? }
node Company { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge WorksAt: Person -> Company
""")
ASKED = {
    "MATCH (p:Person) RETURN p.name": "match { $p: Person } return { $p.name }",
    "MATCH (p:Person)-[:KNOWS]->(q:Person) WHERE p.age > 30 AND q.name <> 'Bo'"
    " RETURN p.name AS a, q LIMIT 5": (
        'match { $p: Person  $q: Person  $p knows $q  $p.age > 30 and $q.name != "Bo" }'
        " return { $p.name as a, $q } limit 5"
    ),
    "match (p:Person {name: 'Ana'})<-[k:KNOWS]-(q) return distinct q.name order by q.name desc": (
        'match { $p: Person {name: "Ana"}  $q $k:knows $p } return distinct { $q.name }'
        " order { $q.name desc }"
    ),
    "MATCH (a:Person)-[:KNOWS*1..3]->(b), (a)-[:WORKS_AT]->(c) RETURN count(*), c.name": (
        "match { $a: Person  $a knows{1,3} $b  $a worksAt $c } return { count(*), $c.name }"
    ),
    "MATCH (a:Person)-[:KNOWS]-(b:Person) WHERE a.name STARTS WITH 'A' RETURN count(b)": (
        'match { $a: Person  $b: Person  $a <knows> $b  $a.name starts_with "A" }'
        " return { count($b) }"
    ),
    "SELECT name, age FROM person WHERE age >= 30 ORDER BY age DESC LIMIT 3;": (
        "match { $p: Person  $p.age >= 30 } return { $p.name, $p.age }"
        " order { $p.age desc } limit 3"
    ),
    "select * from Company": "match { $c: Company } return { $c.* }",
    "SELECT city, COUNT(*) AS n FROM Person GROUP BY city": (
        "match { $p: Person } return { $p.city, count(*) as n }"
    ),
    "INSERT INTO Company (name) VALUES ('Acme, Inc')": (
        'query add() { insert Company { name: "Acme, Inc" } }'
    ),
    "UPDATE person SET age = age + 1 WHERE slug = 'ana'": (
        'query change() { update Person set { age: age + 1 } where slug = "ana" }'
    ),
    "DELETE FROM Person WHERE age < 3": "query remove() { delete Person where age < 3 }",
}
BEYOND = (
    "MATCH p = shortestPath((a)-[*]-(b)) RETURN p",
    "MATCH (n) DETACH DELETE n",
    "CREATE (p:Person {name: 'Ana'})",
    "SELECT a.name FROM Person a JOIN Person b ON a.slug = b.slug",
    "SELECT name FROM Person WHERE name ~ 'x'" + " " * 3_000,
)
OWN = (
    "match { $p: Person } return { $p.name }",
    "query select() { match { $p: Person } return { $p.name } }",
    'query q() { update Person set { name: "x" } where slug = "a" }',
)


def told(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        compile_query(text, CATALOG)
    (problem,) = caught.value.problems
    assert problem.hint is not None
    assert problem.hint.startswith("write ")
    assert "looks like" in problem.message
    return problem.hint.removeprefix("write ")


@pytest.mark.parametrize("text", ASKED)
def test_the_same_question_is_shown_and_compiles(text: str) -> None:
    found = told(text)
    assert found == ASKED[text]
    compile_query(found, CATALOG)


@pytest.mark.parametrize("text", BEYOND)
def test_what_cannot_be_translated_is_answered_with_the_nearest_form(text: str) -> None:
    problems = Problems()
    read_queries(Source("<query>", told(text)), problems)
    assert not problems.total


@pytest.mark.parametrize("text", OWN)
def test_text_of_this_language_is_not_taken_for_another(text: str) -> None:
    compile_query(text, CATALOG)
