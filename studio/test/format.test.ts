import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellText, counted, cut, formatBytes, formatMillis, relativeTime, shortId, signOf, valueText, xmlText } from '../src/look/format.ts'

const NOW = Date.UTC(2026, 0, 10)

test('times are told in the largest unit that fits', () => {
  const ago = (seconds: number): string => relativeTime((NOW - seconds * 1000) * 1000, NOW)
  assert.deepEqual([0, 59, 60, 3599, 3600, 86_400, 86_400 * 45, 86_400 * 800].map(ago), [
    'just now',
    '59 seconds ago',
    '1 minute ago',
    '59 minutes ago',
    '1 hour ago',
    '1 day ago',
    '1 month ago',
    '2 years ago',
  ])
})

test('a clock that is behind tells no time to come', () => {
  assert.equal(relativeTime((NOW + 60_000) * 1000, NOW), 'just now')
})

test('ids of commits are shortened to what differs, as in reports', () => {
  assert.equal(shortId('01M7J97FZPFG8EQR9XM096BQ79'), 'M096BQ79')
  assert.equal(shortId('ana'), 'ana')
})

test('texts are cut between characters', () => {
  assert.equal(cut('ab😀cd', 4), 'ab…')
  assert.equal(cut('ab😀cd', 6), 'ab😀cd')
})

test('cells show one line of any value', () => {
  assert.equal(cellText('a\n  b'), 'a b')
  assert.equal(cellText(null), '')
  assert.equal(cellText([1, 2]), '[1,2]')
  assert.equal(cellText(12345678901234567890n), '12345678901234567890')
  assert.ok(cellText('x'.repeat(1_000_000)).length <= 200)
  assert.match(cellText(Array.from({ length: 384 }, (_, at) => at)), /376 more/)
})

test('values keep every digit of a large integer', () => {
  assert.equal(valueText({ n: 9007199254740993n }), '{"n":9007199254740993}')
})

test('numbers carry units', () => {
  assert.equal(counted(1, 'row'), '1 row')
  assert.equal(counted(100_000, 'row'), '100,000 rows')
  assert.equal(formatMillis(0.116), '0.12 ms')
  assert.equal(formatMillis(1500), '1.5 s')
  assert.equal(formatBytes(2048), '2.0 KiB')
})

test('signs are the same everywhere', () => {
  assert.deepEqual((['insert', 'delete', 'update', 'conflict'] as const).map(signOf), ['+', '−', '~', '≠'])
})

test('a picture has no characters that XML cannot have', () => {
  assert.equal(xmlText('a\u0000\u001b\ufffe\ud800<b> & "c"\t😀'), 'a&#60;b&#62; &#38; &#34;c&#34;\t😀')
})
