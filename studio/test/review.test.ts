import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conflict } from '../src/api/shapes.ts'
import { choiceOf, choose, conflictKey, grouped, joined, mergeFields, NONE, shownOf } from '../src/rooms/review/choices.ts'

function conflict(row: string, property: string | null, type = 'Person', kind = 'DivergentUpdate'): Conflict {
  return { kind, table_key: `node:${type}`, type_name: type, row_id: row, property, message: '', base: 1, ours: 2, theirs: 3, ours_actor: null, theirs_actor: null }
}

const NAME = conflict('ana', 'name')
const AGE = conflict('ana', 'age')
const BOB = conflict('bob', 'age')
const FIRM = conflict('mill', 'city', 'Company')

test('the narrowest choice counts', () => {
  let choices = choose(NONE, { for: 'all' }, { take: 'ours' })
  choices = choose(choices, { for: 'type', type: 'Person' }, { take: 'theirs' })
  choices = choose(choices, { for: 'row', conflict: BOB }, { take: 'ours' })
  choices = choose(choices, { for: 'property', conflict: AGE }, { value: 40 })
  assert.deepEqual(choiceOf(choices, FIRM), { take: 'ours' })
  assert.deepEqual(choiceOf(choices, NAME), { take: 'theirs' })
  assert.deepEqual(choiceOf(choices, BOB), { take: 'ours' })
  assert.deepEqual(choiceOf(choices, AGE), { value: 40 })
})

test('a wider choice takes the place of narrower ones', () => {
  let choices = choose(NONE, { for: 'property', conflict: AGE }, { value: 40 })
  choices = choose(choices, { for: 'property', conflict: FIRM }, { take: 'theirs' })
  choices = choose(choices, { for: 'row', conflict: NAME }, { take: 'ours' })
  assert.deepEqual(choiceOf(choices, AGE), { take: 'ours' })
  choices = choose(choices, { for: 'type', type: 'Person' }, { take: 'theirs' })
  assert.deepEqual(choiceOf(choices, AGE), { take: 'theirs' })
  assert.deepEqual(choiceOf(choices, FIRM), { take: 'theirs' })
  choices = choose(choices, { for: 'all' }, null)
  assert.deepEqual(choices, NONE)
})

test('what is sent names rows and properties, and a value without a side', () => {
  let choices = choose(NONE, { for: 'row', conflict: BOB }, { take: 'ours' })
  choices = choose(choices, { for: 'property', conflict: AGE }, { value: 40 })
  choices = choose(choices, { for: 'property', conflict: NAME }, { take: 'theirs' })
  assert.deepEqual(mergeFields(choices, [NAME, AGE, BOB]), {
    take: null,
    types: {},
    resolutions: [
      { type_name: 'Person', row_id: 'bob', take: 'ours' },
      { type_name: 'Person', row_id: 'ana', property: 'age', value: 40 },
      { type_name: 'Person', row_id: 'ana', property: 'name', kind: 'DivergentUpdate', take: 'theirs' },
    ],
  })
})

test('conflicts stand together by type and row, and new ones come last', () => {
  const groups = grouped([NAME, FIRM, AGE, BOB])
  assert.deepEqual(groups.map((each) => [each.type, each.rows.length]), [['Person', 2], ['Company', 1]])
  assert.deepEqual(joined([NAME, AGE], [AGE, BOB]).map(conflictKey), [NAME, AGE, BOB].map(conflictKey))
})

test('what a choice raised is shown while it is left, and after it was settled', () => {
  const raised = [AGE, BOB]
  const keys = (found: readonly Conflict[]): string[] => found.map(conflictKey)
  assert.deepEqual(keys(shownOf([NAME], raised, [BOB], NONE)), keys([NAME, BOB]))
  assert.deepEqual(keys(shownOf([NAME], raised, [], NONE)), keys([NAME]))
  const chosen = choose(NONE, { for: 'property', conflict: AGE }, { take: 'theirs' })
  assert.deepEqual(keys(shownOf([NAME], raised, [], chosen)), keys([NAME, AGE]))
})

test('a property has one choice, whichever of its conflicts it was made for', () => {
  const raised = { ...AGE, kind: 'UniqueViolation' }
  let choices = choose(NONE, { for: 'property', conflict: AGE }, { take: 'theirs' })
  choices = choose(choices, { for: 'property', conflict: raised }, { value: 41 })
  assert.deepEqual([choiceOf(choices, AGE), choiceOf(choices, raised)], [{ value: 41 }, { value: 41 }])
  choices = choose(choices, { for: 'property', conflict: raised }, { take: 'ours' })
  assert.deepEqual([choiceOf(choices, AGE), choiceOf(choices, raised)], [{ take: 'ours' }, { take: 'ours' }])
  assert.deepEqual(mergeFields(choices, [AGE, raised])['resolutions'], [{ type_name: 'Person', row_id: 'ana', property: 'age', kind: 'DivergentUpdate', take: 'ours' }])
  assert.deepEqual(choose(choices, { for: 'property', conflict: AGE }, null), NONE)
})

test('properties that are unique together have one choice beside their own', () => {
  const together = conflict('ana', 'name,age', 'Person', 'UniqueViolation')
  let choices = choose(NONE, { for: 'property', conflict: together }, { take: 'theirs' })
  choices = choose(choices, { for: 'property', conflict: AGE }, { take: 'ours' })
  assert.deepEqual(mergeFields(choices, [AGE, together])['resolutions'], [
    { type_name: 'Person', row_id: 'ana', property: 'name,age', kind: 'UniqueViolation', take: 'theirs' },
    { type_name: 'Person', row_id: 'ana', property: 'age', kind: 'DivergentUpdate', take: 'ours' },
  ])
  assert.equal(choiceOf(choices, NAME), null)
})

test('a conflict that is settled with its row shows, and sends, a choice for the row', () => {
  const since = conflict('e', 'since', 'WorksAt')
  for (const whole of [conflict('e', null, 'WorksAt', 'DeleteVsUpdate'), conflict('e', 'to', 'WorksAt', 'OrphanEdge'), conflict('e', null, 'WorksAt', 'CardinalityViolation')]) {
    const choices = choose(choose(NONE, { for: 'property', conflict: since }, { take: 'ours' }), { for: 'property', conflict: whole }, { take: 'theirs' })
    assert.deepEqual([choiceOf(choices, whole), choiceOf(choices, since)], [{ take: 'theirs' }, { take: 'theirs' }])
    assert.deepEqual(mergeFields(choices, [since, whole])['resolutions'], [{ type_name: 'WorksAt', row_id: 'e', take: 'theirs' }])
    assert.deepEqual(shownOf([], [whole], [], choices), [whole])
    assert.deepEqual(choose(choices, { for: 'property', conflict: whole }, null), NONE)
  }
})
