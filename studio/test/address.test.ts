import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, formatAddress, moved, parseAddress } from '../src/shell/address.ts'

test('an address is read as it was written', () => {
  const whole = { room: 'query', graph: 'a/b', branch: 'review/hïres & more', commit: '01M7J97FZPFG8EQR9XM096BQ79', extra: { q: 'query x() {\n  match { $p: Person } # %\n}' } } as const
  assert.deepEqual(parseAddress(formatAddress(whole)), whole)
})

test('the start is the overview of main', () => {
  assert.deepEqual(parseAddress(''), { room: 'overview', graph: null, branch: 'main', commit: null, extra: {} })
  assert.equal(formatAddress(parseAddress('')), '#/overview')
  assert.equal(parseAddress('#/nowhere?x').room, 'overview')
})

test('another room leaves behind what belonged to the first', () => {
  const from = parseAddress('#/query?q=x&branch=draft')
  assert.equal(formatAddress(moved(from, { room: 'history' })), '#/history?branch=draft')
  assert.equal(formatAddress(moved(from, { extra: { view: 'json' } })), '#/query?branch=draft&q=x&view=json')
  assert.equal(formatAddress(moved(from, { extra: { q: null } })), '#/query?branch=draft')
})

test('another branch leaves the commit behind', () => {
  const from = parseAddress('#/explore?branch=draft&commit=abc')
  assert.equal(moved(from, { branch: 'main' }).commit, null)
  assert.equal(moved(from, { room: 'query' }).commit, 'abc')
  assert.equal(moved(from, { graph: 'other' }).branch, 'main')
})

test('a one-time code is no address', () => {
  assert.equal(codeOf('#code=a%2Bb'), 'a+b')
  assert.equal(codeOf('#/query?code=x'), null)
})
