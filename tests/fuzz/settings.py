"""Settings: the targets that read what people write: policies, configurations, deployments."""

import os
from functools import cache

from omnigraph.cli.following.settings import read_settings
from omnigraph.cli.profiles import HOME, read_profiles
from omnigraph.deploy.declaration import declared_schemas, read_declaration, storage_of
from omnigraph.deploy.revision import decode, encode
from omnigraph.files.dotenv import parse_dotenv
from omnigraph.policy.actions import Action, Request
from omnigraph.policy.cases import load_cases, run_cases
from omnigraph.policy.cedar import SCHEMA, Cedar, cedar_text
from omnigraph.policy.policy import Policy, parse_policy
from omnigraph.policy.rules import parse_rules
from omnigraph.policy.sandbox import _problem as cedar_problem
from omnigraph.server.access.tokens import FILE, TokenSource
from omnigraph.server.config import load_config
from omnigraph.write.embed.seed import read_seed, read_spec
from tests.fuzz.corpus import ODD
from tests.fuzz.mutation import Language, hostile_file, hostile_json
from tests.fuzz.target import Broken, Target, scratch, written

_POLICIES = (
    """\
version: 1
groups: {team: [ann, "bob"]}
protected_branches: [main]
rules:
- id: read
  allow: {actors: {group: team}, actions: [read, export], branch_scope: any}
""",
    """\
version: 1
kind: server
groups:
  all: [ann]
rules:
- {id: list, allow: {actors: {group: all}, actions: [graph_list]}}
""",
    """\
version: 1
groups: {a b: [é]}
rules:
- {id: m, allow: {actors: {group: a b}, actions: [branch_merge], target_branch_scope: protected}}
- {id: q, allow: {actors: {group: a b}, actions: [invoke_query], queries: [one, two]}}
""",
)
_CASES = (
    """\
version: 1
cases:
- {id: a, actor: ann, action: read, branch: main, expect: allow}
- {id: b, actor: bob, action: branch_merge, target_branch: x/y, expect: deny}
""",
    "version: 1\ncases:\n- {id: c, actor: ann, action: invoke_query, query: one, expect: deny}\n",
)
_CONFIGS = (
    "graphs:\n  g: {uri: g.omni}\n  s: {uri: 'https://x.org', bearer_token_env: T}\n"
    "cli: {graph: g, branch: main, output_format: json, table_max_column_width: 80}\n",
    "project: {name: p}\nserver:\n  bind: 127.0.0.1:8080\n"
    "  limits: {query_seconds: 1.5, load_bytes: 100, actors: {a: {query_seconds: 5}}}\n",
    "queries: {one: {file: a.gq, expose: false, roles: [x]}}\nquery: {roots: [q, ~/x]}\n"
    "auth: {env_file: .env}\npolicy: {file: p.yaml, tests: t.yaml}\n",
    "queries: [a.gq, b]\naliases:\n  f: {command: read, query: a.gq, name: n, args: [x]}\n"
    "spark:\n  master: local[2]\n  conf: {spark.x: 2g, spark.y: true}\n",
)
_PROFILES = (
    "servers: {s: {url: 'https://x.org', bearer_token_env: T}}\nclusters: {c: {uri: ./d}}\n"
    "profiles:\n  p: {server: s, graph: g, branch: b, actor: ann}\n  q: {cluster: c, graph: g}\n"
    "default_profile: p\n",
)
_CLUSTERS = (
    "version: 1\nmetadata: {name: brain}\ngraphs:\n  g: {schema: a.pg, queries: q.gq}\n"
    "policies:\n  p: {file: p.yaml, applies_to: [g]}\n",
    "version: 1\nmetadata: {name: b}\nstate: {lock: x}\nstorage: s3://b/c\n"
    "graphs:\n  g:\n    schema: a.pg\n    queries: {all: {file: q.gq, roles: [team]}}\n"
    "    embedding_provider: e\n    limits: {query_seconds: 2}\n"
    "providers: {embedding: {e: {kind: openai, model: m, api_key: '${K}'}}}\n",
)
_SEEDS = (
    "input: a.jsonl\noutput: b.jsonl\nspec:\n  dimension: 2\n  model: m\n"
    "  types: {Person: {source: name, target: vec}}\n",
    '{"dimension": 2, "types": {"A": {"source": "a", "target": "b"}}}',
)
_DOTENV = ('# keys\nA=1\nexport B_2 = \'x y\' # note\nC="a\\n\\"b\\""\nD=\n',)
_KAFKA = ("# auth\nsasl.username=ann\nsasl.password = a=b\nssl.ca.pem: x\n",)
_TOKENS = ('{"ann": "secret-token-1", "bob": "another-token"}', '{"é": "\\u00e9\\u00e9 12345678"}')
_WORDS = (
    *("version", "groups", "rules", "allow", "actions", "graphs", "queries", "schema", "limits"),
    *("true", "no", "null", "~", "1", "-1", "0x1F", "1_000", "1e400", ".inf", ".nan", "12:30:45"),
    *("2024-01-31", "cluster", "main", "any", "read", "../x", "/etc", "nothing.pg", "${X}", "."),
)
_SIGNS = (
    *":-?,[]{}#&*!|>'\"%@`\n\t",
    *(
        ": ",
        "- ",
        "\n  ",
        "\n- ",
        "---\n",
        "...\n",
        "<<: ",
        "&a ",
        "*a",
        "!!binary ",
        "!!set ",
        "!x ",
    ),
    *(
        '"\\0"',
        '"\\ud800"',
        '"\\x85"',
        '"\\u2028"',
        '"\\q"',
        "? ",
        "|\n",
        ">-\n",
        "{{",
        "[[",
        "\r\n",
    ),
    *("!!float x", "!!int 'a'", "!!bool 7", "!!null x", "!!timestamp x", "%YAML 9.9\n", *ODD),
)


def _yaml(*texts: str) -> Language:
    return Language(texts, words=_WORDS, signs=_SIGNS)


_POLICY, _CASE, _CONFIG, _PROFILE, _CLUSTER, _SEED, _ENV, _KAFKA_LINES = (
    _yaml(*each)
    for each in (_POLICIES, _CASES, _CONFIGS, _PROFILES, _CLUSTERS, _SEEDS, _DOTENV, _KAFKA)
)


def _run_policy(given: bytes) -> None:
    rules = parse_rules("policy.yaml", given)
    problem = cedar_problem(cedar_text(rules), SCHEMA)
    if problem is not None:
        raise Broken(f"Cedar rejects rules that were accepted: {problem}")
    policy = Policy(rules, Cedar(rules))
    for rule in rules.rules:
        for actor in sorted(rules.groups[rule.group])[:1]:
            query = next(iter(sorted(rule.queries or ())), "any")
            for action in rule.actions:
                _check_decision(policy, Request(actor, action, query=query))


def _check_decision(policy: Policy, request: Request) -> None:
    """Raise Broken when a rule for all branches of an actor is not found again."""
    allowed = any(
        rule.covers(Action(request.action), request.query if rule.queries is not None else None)
        and request.actor in policy.rules.groups[rule.group]
        and rule.scope == "any"
        for rule in policy.rules.rules
    )
    if policy.decide(request).allowed != allowed:
        raise Broken(f"{request} is decided otherwise than its rule says")


@cache
def _policy() -> Policy:
    return parse_policy("policy.yaml", _POLICIES[0].encode())


def _run_cases(given: bytes) -> None:
    run_cases(_policy(), load_cases(written("cases.yaml", given)))


def _run_config(given: bytes) -> None:
    config = load_config(written("omnigraph.yaml", given))
    for name in config.aliases:
        config.query_file(config.alias(name).query)
    for name in config.graphs:
        config.graph(name)


def _run_profiles(given: bytes) -> None:
    os.environ[HOME] = str(scratch())
    written("config.yaml", given)
    found = read_profiles()
    for profile in found.profiles.values():
        if profile.server is not None:
            found.url(profile.server)


@cache
def _deployment() -> None:
    """Write the files that a deployment names."""
    written("a.pg", b"node P { name: String @key }")
    written("q.gq", b"query all() { match { $p: P } return { $p.name } }")
    written("p.yaml", _POLICIES[0].encode())


def _run_cluster(given: bytes) -> None:
    _deployment()
    path = written("cluster.yaml", given)
    found = read_declaration(path)
    storage_of(path)
    declared_schemas(path)
    revision = encode(found.definition)
    if decode(revision.document, revision.texts.__getitem__) != found.definition:
        raise Broken("the recorded deployment is another one")


def _run_seed(given: bytes) -> None:
    path = written("seed.yaml", given)
    (read_spec if given.lstrip()[:1] == b"{" else read_seed)(path)


def _run_tokens(given: bytes) -> None:
    path = written("tokens.json", given)
    found = TokenSource(FILE, str(path)).read()
    if not found.actors or found.actor_of(b"no such token at all") is not None:
        raise Broken("there are no tokens, or another one is known")


def _run_dotenv(given: bytes) -> None:
    parse_dotenv(".env", given)


def _run_kafka(given: bytes) -> None:
    found = read_settings(written("kafka.properties", given), "x:9092")
    if found["enable.auto.commit"] != "false" or found["bootstrap.servers"] != "x:9092":
        raise Broken("a setting of our own was changed")


SETTINGS = (
    Target("policy", lambda random: hostile_file(random, _POLICY), _run_policy),
    Target("policy cases", lambda random: hostile_file(random, _CASE), _run_cases),
    Target("config", lambda random: hostile_file(random, _CONFIG), _run_config),
    Target("profiles", lambda random: hostile_file(random, _PROFILE), _run_profiles),
    Target("deployment", lambda random: hostile_file(random, _CLUSTER), _run_cluster),
    Target("embed spec", lambda random: hostile_file(random, _SEED), _run_seed),
    Target("dotenv", lambda random: hostile_file(random, _ENV), _run_dotenv),
    Target("kafka settings", lambda random: hostile_file(random, _KAFKA_LINES), _run_kafka),
    Target(
        "tokens",
        lambda random: hostile_json(random, _TOKENS).encode(errors="surrogatepass"),
        _run_tokens,
    ),
)
