/** Conflicts: what both sides changed differently, with base, ours and theirs, and a choice for each. */

import { useEffect, useId, useState } from 'preact/hooks'
import type { Conflict } from '../../api/shapes.ts'
import { counted } from '../../look/format.ts'
import { Changes, Id, TypeName, Value } from '../../look/parts.tsx'
import { useStudio } from '../../shell/studio.tsx'
import { fieldOf, parseParameters, typedOf } from '../query/parameters.ts'
import { choiceOf, conflictKey, grouped, isOfRow, rowKey, type Choice, type Choices, type Scope, type Side, type TypeConflicts } from './choices.ts'

export type Choose = (scope: Scope, choice: Choice | null) => void

interface Sides {
  ours: string
  theirs: string
}

interface Shared {
  choices: Choices
  choose: Choose
  /** The keys of the conflicts that the server still finds. */
  left: ReadonlySet<string>
  sides: Sides
}

export function Conflicts({ conflicts, ...shared }: Shared & { conflicts: readonly Conflict[] }) {
  const types = grouped(conflicts)
  return (
    <section class="stack" aria-label="Conflicts">
      <div class="row spread">
        <h2>Conflicts</h2>
        <SideButtons label={`all ${counted(conflicts.length, 'conflict')}`} chosen={shared.choices.all} choose={(choice) => shared.choose({ for: 'all' }, choice)} sides={shared.sides} />
      </div>
      {types.map((each) => (
        <OfType key={each.type} group={each} {...shared} />
      ))}
    </section>
  )
}

function OfType({ group, ...shared }: Shared & { group: TypeConflicts }) {
  const count = group.rows.reduce((sum, each) => sum + each.length, 0)
  return (
    <div class="stack">
      <div class="row spread">
        <h3 class="row">
          <TypeName name={group.type} /> <Changes op="conflict" count={count} />
        </h3>
        {group.rows.length > 1 ? <SideButtons label={`every ${group.type}`} chosen={shared.choices.types[group.type] ?? null} choose={(choice) => shared.choose({ for: 'type', type: group.type }, choice)} sides={shared.sides} /> : null}
      </div>
      {group.rows.map((rows) => (
        <OfRow key={conflictKey(rows[0] as Conflict)} conflicts={rows} {...shared} />
      ))}
    </div>
  )
}

function OfRow({ conflicts, ...shared }: Shared & { conflicts: readonly Conflict[] }) {
  const first = conflicts[0] as Conflict
  return (
    <article class="panel stack" aria-label={`${first.type_name} ${first.row_id ?? ''}`}>
      <div class="row spread">
        <span class="row">
          <TypeName name={first.type_name} />
          {first.row_id === null ? null : <Id id={first.row_id} />}
        </span>
        {conflicts.length > 1 ? <SideButtons label="this row" chosen={shared.choices.rows[rowKey(first)] ?? null} choose={(choice) => shared.choose({ for: 'row', conflict: first }, choice)} sides={shared.sides} /> : null}
      </div>
      {conflicts.map((each) => (
        <One key={conflictKey(each)} conflict={each} {...shared} />
      ))}
    </article>
  )
}

/** One conflict: the values of all sides beside each other, each with the button that takes it. */
function One({ conflict, choices, choose, left, sides }: Shared & { conflict: Conflict }) {
  const name = useId()
  const chosen = choiceOf(choices, conflict)
  const isLeft = left.has(conflictKey(conflict))
  const pick = (choice: Choice | null): void => choose({ for: 'property', conflict }, choice)
  const taken = chosen !== null && 'take' in chosen ? chosen.take : null
  return (
    <fieldset class="one-conflict" data-state={isLeft ? 'left' : 'settled'}>
      <legend class="row">
        <span class={isLeft ? 'sign conflict' : 'sign added'} aria-hidden="true">
          {isLeft ? '≠' : '✓'}
        </span>
        {conflict.property === null ? null : <code>{conflict.property}</code>}
        <span class="soft small wrap">{conflict.message}</span>
        <span class="hidden">{isLeft ? 'not settled' : 'settled'}</span>
      </legend>
      <div class="sides">
        <div class="side">
          <span class="small soft">base</span>
          <Value value={conflict.base} />
        </div>
        {(['ours', 'theirs'] as const).map((side) => (
          <label key={side} class="side">
            <span class="row small">
              <input type="radio" name={name} checked={taken === side} onChange={() => pick({ take: side })} />
              <span>
                {side} <span class="soft">({sides[side]})</span>
              </span>
            </span>
            <Value value={conflict[side]} />
          </label>
        ))}
        {conflict.property === null || isOfRow(conflict) ? null : <Third conflict={conflict} property={conflict.property} name={name} chosen={chosen} pick={pick} />}
      </div>
    </fieldset>
  )
}

/** A value of neither side, typed by a person and read by the type of its property. */
function Third({ conflict, property, name, chosen, pick }: { conflict: Conflict; property: string; name: string; chosen: Choice | null; pick: (choice: Choice | null) => void }) {
  const { place } = useStudio()
  const types = [...(place.value?.schema.nodes ?? []), ...(place.value?.schema.edges ?? [])]
  const declared = types.find((each) => each.name === conflict.type_name)?.properties.find((each) => each.name === property)
  const isChosen = chosen !== null && 'value' in chosen
  const value = isChosen ? typedOf(chosen.value) : null
  const [typed, setTyped] = useState(() => value ?? typedOf(conflict.theirs ?? conflict.ours ?? ''))
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    // It may have been typed for another conflict of the same property.
    if (value === null) return
    setTyped(value)
    setProblem(null)
  }, [value])
  if (declared === undefined) return null
  const field = fieldOf(declared.type)
  const use = (text: string): void => {
    setTyped(text)
    const parsed = parseParameters([{ name: property, type: declared.type, required: true }], { [property]: text })
    const wrong = parsed.problems[property]
    setProblem(wrong ?? null)
    // An earlier value must not be taken while another one, which is wrong, stands in the field.
    if (wrong === undefined) pick({ value: parsed.values[property] })
    else if (isChosen) pick(null)
  }
  return (
    <div class="side">
      <label class="row small">
        <input type="radio" name={name} checked={isChosen} onChange={() => use(typed)} />
        <span>another value</span>
      </label>
      {field.kind === 'choice' ? (
        <select aria-label={`Another value of ${property}`} value={typed} onChange={(event) => use(event.currentTarget.value)}>
          {field.choices.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        // What is typed stays when an answer to an earlier choice draws this anew.
        <input aria-label={`Another value of ${property}`} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onChange={(event) => use(event.currentTarget.value)} />
      )}
      {problem === null ? null : <span class="small removed">{problem}</span>}
    </div>
  )
}

function SideButtons({ label, chosen, choose, sides }: { label: string; chosen: Side | null; choose: (choice: Choice | null) => void; sides: Sides }) {
  return (
    <span class="row small" role="group" aria-label={`For ${label}`}>
      <span class="soft">{label}:</span>
      {(['ours', 'theirs'] as const).map((side) => (
        <button key={side} type="button" aria-pressed={chosen === side} title={`Take the version of ${sides[side]}`} onClick={() => choose(chosen === side ? null : { take: side })}>
          {side}
        </button>
      ))}
    </span>
  )
}
