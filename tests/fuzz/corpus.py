"""Corpus: valid texts of both languages that the fuzzer starts from."""

import re

SCHEMAS = (
    """
interface Named { name: String @index }
node Person @description("who") implements Named {
  slug: String @key  age: I32? @default(3)  status: enum(active, left, a-1)  tags: [String]?
  bio: String?  vec: Vector(3)? @embed("bio", model="m")
  @range(age, 0..150)  @check(slug, "^[a-z]+$")  @unique(slug, age)
}
edge Knows: Person -> Person @card(0..5) { since: Date?  @key(src, dst) }
""",
    """
node Doc { title: String @unique  text: String  in: I64? @index  order: F64  @index(title, in) }
node Company @rename_from("Firm") { code: String  land: String @description("\\u00e9 \\"x\\"")
  @key(code, land)  @range(size, -1.5..)  size: F32? @pii("low", level=2) }
edge Contains: Doc -> Doc
edge In: Doc -> Company @card(1..1) @instruction("follow") { at: DateTime? }
""",
    """
// a comment
interface A { x: I32 }  interface B { y: Blob? /* two */ }
node Both implements A, B { x: I32  ok: Bool @default(true)  day: Date? @default("2024-01-31") }
node Order implements A { z: [U64]  big: U64 @default(18446744073709551615) }
""",
)
CATALOG = """
interface Named { name: String @index }
node Person implements Named {
  slug: String @key  age: I32?  score: F64?  order: I64?  status: enum(active, left)
  tags: [String]?  seen: DateTime?  born: Date?  ok: Bool?  photo: Blob?
  bio: String?  vec: Vector(3)? @embed("bio")
}
node Company implements Named { code: String  land: String  size: U32?  @key(code, land) }
node Doc { title: String  text: String  in: I32?  vec: Vector(3) }
edge Knows: Person -> Person { since: Date?  weight: F32? }
edge Likes: Person -> Person
edge WorksAt: Person -> Company { role: String? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc
edge Contains: Doc -> Doc
"""
QUERIES = (
    """
query friends($slug: String, $n: I64) @description("of one") {
  match { $p: Person { slug: $slug }  $p knows|likes {1,3} $f  $f.age > 30 }
  return { $f.name as name, $f, count($p) as n }  having { n > 1 }
  order { name desc, n }  skip 1  limit $n
}
""",
    """
query docs($q: String, $v: Vector(3)?) {
  match { $d: Doc  search($d.text, $q)  not { $d cites $x  $x.in = 1 }
    optional { $w $e:wrote $d } }
  return distinct { $d.title, bm25($d.text, $q) as s, $w.name }
  order { rrf(nearest($d.vec, $v), bm25($d.text, "a b"), 10) desc }  limit 5
}
query near() {
  match { $d: Doc } return { $d.title } order { nearest($d.vec, [1, 2.5, -3]) } limit 3
}
""",
    """
query logic($day: Date, $tags: [String]) {
  match { $p: Named  $q: Person  $q <knows> $_  $q worksAt $c
    ($q.born >= $day or $q.born is null) and not $q.status in ["active"]
    $q.tags contains "x"  $q.name starts_with "A"  $q.seen < now()  $d contains $d2
    $q.score != 1.5e3  $q.born = date("2024-01-31")  $q.seen = datetime("2024-01-31T12:00:00Z") }
  return { $q.status, avg($q.age) as a, min($q.born) as b, count(distinct $c) as k }
  order { a asc }
}
""",
    """
query add($slug: String, $at: DateTime, $v: Vector(3)) {
  insert Person { slug: $slug, name: "N", status: "active", seen: $at, tags: ["a", "b"], vec: $v }
  insert Knows { from: $slug, to: "bob", since: date("2020-02-29") }
  update Person set { age: 3, photo: "base64:AAAA" } where slug = $slug and age is not null
}
query gone($id: String) { delete Knows where src = $id or dst = $id  delete Person where id = $id }
""",
)
STORED_QUERIES = (
    """
query everyone() @description("All.") { match { $p: Person } return { $p.name } order { $p.name } }
query add($name: String) { insert Person { name: $name } }
""",
    """
query old($age: I32?) @instruction("Ask first.") { match { $p: Person  $p.age > $age }
  return { $p.name, $p.age } limit 10 }
""",
)
PARAMS = """
query all($s: String, $b: Bool?, $i: I32, $j: I64?, $u: U32?, $w: U64?, $f: F32?, $g: F64?,
  $d: Date?, $t: DateTime?, $x: Blob?, $l: [I64]?, $m: [String]?, $v: Vector(3)?,
  $e: enum(active, left)?, $ld: [Date]?, $n: U32) {
  match { $p: Person { slug: $s } } return { $p.name } skip $n limit $i
}
"""
WORDS = tuple(
    re.findall(
        r"\S+",
        " match return query node edge interface implements not optional and or in is null"
        " true false contains starts_with count sum avg min max distinct as asc desc order"
        " having skip limit insert update delete set where search fuzzy match_text bm25"
        " nearest rrf now date datetime String Blob Bool I32 I64 U32 U64 F32 F64 Date"
        " DateTime Vector enum Person Knows knows $p $_ $x.y key unique index range check"
        " card embed default description rename_from src dst id",
    )
)
SIGNS = (
    *"{}()[]:,.=<>|@?-$#\"\\'/*;&!+~^%",
    *("->", "<=", ">=", "!=", "..", "//", "/*", "*/", '""', "1..", "..2", "-1", "1.5", "1e400"),
    *("0", "64", "99999999999999999999", "18446744073709551616", "1e5", "{1,3}", "{2,}", "<k>"),
    *('"\\q"', '"\\u12"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\', "\\n", '"a', "date(", '"("'),
)
ODD = (
    *"\x00\x01\x1b\x7f\x85\xa0\u200b\u2028\u202e\ufeff\ufffd\r\n\t\x0b\x0c",
    *("é", "İ", "ß", "漢", "😀", "e\u0301", "Ⅷ", "٣", "ﬁ", "\ud800", "\U0010ffff"),
)
