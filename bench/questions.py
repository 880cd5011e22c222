"""Questions: what is asked of the social graph, in our language and in those of the peers."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.record import DATA_SEED


@dataclass(frozen=True, slots=True)
class Question:
    """One question in three languages; the parameters have the same names in all of them."""

    name: str
    gq: str
    cypher: str = ""
    sql: str = ""
    params: Mapping[str, object] = field(default_factory=dict)


SEED = {"seed": 4242}

NINE = (
    Question(
        "q1_most_followed",
        """query q() {
          match { $f follows $p }
          return { $p.id_number as id, $p.name as name, count($f) as followers }
          order { followers desc, id } limit 3
        }""",
        """MATCH (p:Person)<-[:Follows]-(f:Person)
           WITH p.id AS id, count(*) AS followers ORDER BY followers DESC, id LIMIT 3
           MATCH (p:Person) WHERE p.id = id
           RETURN id, p.name, followers ORDER BY followers DESC, id""",
        """WITH top AS (SELECT target, count(*) AS followers FROM follows
                        GROUP BY target ORDER BY followers DESC, target LIMIT 3)
           SELECT p.id, p.name, followers FROM top JOIN person p ON p.id = top.target
           ORDER BY followers DESC, p.id""",
    ),
    Question(
        "q2_city_of_most_followed",
        """query q() {
          match { $f follows $p  $p livesIn $c }
          return { $p.id_number as id, $c.name as city, count($f) as followers }
          order { followers desc, id } limit 1
        }""",
        """MATCH (p:Person)<-[:Follows]-(f:Person)
           WITH p.id AS id, count(*) AS followers ORDER BY followers DESC, id LIMIT 1
           MATCH (p:Person)-[:LivesIn]->(c:City) WHERE p.id = id
           RETURN id, c.name, followers""",
        """WITH top AS (SELECT target, count(*) AS followers FROM follows
                        GROUP BY target ORDER BY followers DESC, target LIMIT 1)
           SELECT top.target, city.name, top.followers FROM top
           JOIN lives_in ON lives_in.source = top.target
           JOIN city ON city.id = lives_in.target""",
    ),
    Question(
        "q3_youngest_cities",
        """query q($country: String) {
          match { $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = $country }
          return { $c.name as city, avg($p.age) as age }
          order { age, city } limit 5
        }""",
        """MATCH (p:Person)-[:LivesIn]->(c:City)-[:CityIn]->(:State)-[:StateIn]->(k:Country)
           WHERE k.name = $country
           RETURN c.name AS city, avg(p.age) AS age ORDER BY age, city LIMIT 5""",
        """SELECT city.name AS city, avg(p.age) AS age FROM person p
           JOIN lives_in ON lives_in.source = p.id JOIN city ON city.id = lives_in.target
           JOIN city_in ON city_in.source = city.id
           JOIN state_in ON state_in.source = city_in.target
           JOIN country k ON k.id = state_in.target
           WHERE k.name = $country GROUP BY city.name ORDER BY age, city LIMIT 5""",
        {"country": "United States"},
    ),
    Question(
        "q4_aged_per_country",
        """query q($low: I32, $high: I32) {
          match {
            $p: Person  $p.age >= $low  $p.age <= $high
            $p livesIn $c  $c cityIn $s  $s stateIn $k
          }
          return { $k.name as country, count($p) as persons }
          order { persons desc, country }
        }""",
        """MATCH (p:Person)-[:LivesIn]->(:City)-[:CityIn]->(:State)-[:StateIn]->(k:Country)
           WHERE p.age >= $low AND p.age <= $high
           RETURN k.name AS country, count(p) AS persons ORDER BY persons DESC, country""",
        """SELECT k.name AS country, count(*) AS persons FROM person p
           JOIN lives_in ON lives_in.source = p.id JOIN city_in ON city_in.source = lives_in.target
           JOIN state_in ON state_in.source = city_in.target
           JOIN country k ON k.id = state_in.target
           WHERE p.age BETWEEN $low AND $high GROUP BY k.name ORDER BY persons DESC, country""",
        {"low": 30, "high": 40},
    ),
    Question(
        "q5_men_of_london_dining",
        """query q($gender: String, $city: String, $interest: String) {
          match {
            $p: Person  $p.gender = $gender
            $p livesIn $c  $c.name = $city
            $p hasInterest $i  $i.name = $interest
          }
          return { count($p) as persons }
        }""",
        """MATCH (p:Person)-[:HasInterest]->(i:Interest), (p)-[:LivesIn]->(c:City)
           WHERE i.name = $interest AND p.gender = $gender AND c.name = $city
           RETURN count(p)""",
        """SELECT count(*) FROM person p
           JOIN lives_in ON lives_in.source = p.id JOIN city ON city.id = lives_in.target
           JOIN has_interest h ON h.source = p.id JOIN interest i ON i.id = h.target
           WHERE p.gender = $gender AND city.name = $city AND i.name = $interest""",
        {"gender": "male", "city": "London", "interest": "fine dining"},
    ),
    Question(
        "q6_cities_of_women_tennis",
        """query q($gender: String, $interest: String) {
          match {
            $p: Person  $p.gender = $gender
            $p hasInterest $i  $i.name = $interest
            $p livesIn $c
          }
          return { $c.name as city, count($p) as persons }
          order { persons desc, city } limit 5
        }""",
        """MATCH (p:Person)-[:HasInterest]->(i:Interest), (p)-[:LivesIn]->(c:City)
           WHERE i.name = $interest AND p.gender = $gender
           RETURN c.name AS city, count(p) AS persons ORDER BY persons DESC, city LIMIT 5""",
        """SELECT city.name AS city, count(*) AS persons FROM person p
           JOIN has_interest h ON h.source = p.id JOIN interest i ON i.id = h.target
           JOIN lives_in ON lives_in.source = p.id JOIN city ON city.id = lives_in.target
           WHERE p.gender = $gender AND i.name = $interest
           GROUP BY city.name ORDER BY persons DESC, city LIMIT 5""",
        {"gender": "female", "interest": "tennis"},
    ),
    Question(
        "q7_state_of_photographers",
        """query q($low: I32, $high: I32, $country: String, $interest: String) {
          match {
            $p: Person  $p.age >= $low  $p.age <= $high
            $p hasInterest $i  $i.name = $interest
            $p livesIn $c  $c cityIn $s  $s stateIn $k  $k.name = $country
          }
          return { $s.name as state, count($p) as persons }
          order { persons desc, state } limit 1
        }""",
        """MATCH (p:Person)-[:LivesIn]->(:City)-[:CityIn]->(s:State)-[:StateIn]->(k:Country),
                 (p)-[:HasInterest]->(i:Interest)
           WHERE p.age >= $low AND p.age <= $high AND k.name = $country AND i.name = $interest
           RETURN s.name AS state, count(p) AS persons ORDER BY persons DESC, state LIMIT 1""",
        """SELECT s.name AS state, count(*) AS persons FROM person p
           JOIN has_interest h ON h.source = p.id JOIN interest i ON i.id = h.target
           JOIN lives_in ON lives_in.source = p.id JOIN city_in ON city_in.source = lives_in.target
           JOIN state s ON s.id = city_in.target JOIN state_in ON state_in.source = s.id
           JOIN country k ON k.id = state_in.target
           WHERE p.age BETWEEN $low AND $high AND k.name = $country AND i.name = $interest
           GROUP BY s.name ORDER BY persons DESC, state LIMIT 1""",
        {"low": 23, "high": 30, "country": "United States", "interest": "photography"},
    ),
    Question(
        "q8_two_hop_paths",
        """query q() {
          match { $a follows $b  $b follows $c }
          return { count($c) as paths }
        }""",
        """MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person) RETURN count(*)""",
        """SELECT count(*) FROM follows one JOIN follows two ON two.source = one.target""",
    ),
    Question(
        "q9_two_hop_paths_by_age",
        """query q($below: I32, $above: I32) {
          match { $a follows $b  $b follows $c  $b.age < $below  $c.age > $above }
          return { count($c) as paths }
        }""",
        """MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person)
           WHERE b.age < $below AND c.age > $above RETURN count(*)""",
        """SELECT count(*) FROM follows one
           JOIN person b ON b.id = one.target JOIN follows two ON two.source = b.id
           JOIN person c ON c.id = two.target WHERE b.age < $below AND c.age > $above""",
        {"below": 50, "above": 25},
    ),
)

TWO_HOPS = Question(
    "two_hops",
    """query q($seed: I64) {
      match { $p: Person { id_number: $seed }  $p follows $a  $a follows $b }
      return { count(distinct $b) as reached }
    }""",
    """MATCH (:Person {id: $seed})-[:Follows]->(:Person)-[:Follows]->(b:Person)
       RETURN count(DISTINCT b.id)""",
    """SELECT count(DISTINCT two.target) FROM follows one
       JOIN follows two ON two.source = one.target WHERE one.source = $seed""",
    SEED,
)


def _within(hops: int) -> Question:
    """How many persons are within so many hops of one person."""
    step = "SELECT DISTINCT target AS id FROM follows"
    levels = [f"h1 AS ({step} WHERE source = $seed)"]
    levels += [
        f"h{at} AS ({step} JOIN h{at - 1} ON source = h{at - 1}.id)" for at in range(2, hops + 1)
    ]
    reached = " UNION ".join(f"SELECT id FROM h{at}" for at in range(1, hops + 1))
    return Question(
        f"within_{hops}_hops",
        f"""query q($seed: I64) {{
          match {{ $p: Person {{ id_number: $seed }}  $p follows {{1,{hops}}} $q }}
          return {{ count($q) as reached }}
        }}""",
        f"""MATCH (p:Person {{id: $seed}})-[:Follows* SHORTEST 1..{hops}]->(q:Person)
            WHERE q.id <> $seed RETURN count(q)""",
        f"WITH {', '.join(levels)} SELECT count(*) FROM ({reached}) WHERE id <> $seed",
        SEED,
    )


HOPS = tuple(_within(hops) for hops in range(1, 5))
PATHS = NINE[7]

POINT = Question(
    "point_read",
    """query q($number: I64) {
      match { $a: Account { number: $number } }
      return { $a.number as number, $a.owner as owner, $a.balance as balance, $a.active as active }
    }""",
    params={"number": 777},
)
COUNT = Question("count", "query q() { match { $p: Picture } return { count($p) as pictures } }")

DIMENSION = 128
_CHANCE = random.Random(DATA_SEED)
HYBRID = Question(
    "hybrid",
    f"""query q($point: Vector({DIMENSION}), $words: String) {{
      match {{ $d: Doc }}
      return {{ $d.slug as slug, rrf(nearest($d.vector, $point), bm25($d.text, $words)) as score }}
      order {{ score desc }} limit 10
    }}""",
    params={
        "point": [_CHANCE.gauss() for _ in range(DIMENSION)],
        "words": "word50 word500 word5000",
    },
)

QUESTIONS = {each.name: each for each in (*NINE, TWO_HOPS, *HOPS, POINT, COUNT, HYBRID)}
