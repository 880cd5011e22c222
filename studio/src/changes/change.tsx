/** Change: rows that came, went or changed, with what was before and after. */

import { useState } from 'preact/hooks'
import type { Change, SchemaStep, Stats } from '../api/shapes.ts'
import { writeJson } from '../api/json.ts'
import { classOf, signOf } from '../look/format.ts'
import { Changes, Id, TypeName, Value } from '../look/parts.tsx'
import { fieldsOf, labelOfChange } from './fields.ts'
import './changes.css'

const WORDS = { insert: 'added', delete: 'removed', update: 'changed' } as const
const SHOWN = 100

export function StatsLine({ stats }: { stats: Stats }) {
  const names = Object.keys(stats).filter((name) => Object.values(stats[name] ?? {}).some(Boolean))
  if (names.length === 0) return <span class="soft">no rows</span>
  return (
    <span class="row stats">
      {names.map((name) => (
        <span key={name} class="row">
          <TypeName name={name} />
          <Changes op="insert" count={stats[name]?.insert ?? 0} />
          <Changes op="delete" count={stats[name]?.delete ?? 0} />
          <Changes op="update" count={stats[name]?.update ?? 0} />
        </span>
      ))}
    </span>
  )
}

export function SchemaSteps({ steps }: { steps: readonly SchemaStep[] }) {
  if (steps.length === 0) return null
  return (
    <section aria-label="Changes of the schema" class="stack">
      <h3>Schema</h3>
      <ul class="plain">
        {steps.map((each, at) => (
          <li key={at}>
            <span class="sign changed">~</span> <code class="wrap">{typeof each['description'] === 'string' ? each['description'] : writeJson(each)}</code>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function ChangeList({ changes }: { changes: readonly Change[] }) {
  const [most, setMost] = useState(SHOWN)
  return (
    <>
      <ul class="plain changes">
        {changes.slice(0, most).map((each) => (
          <ChangeItem key={`${each.table_key} ${each.id}`} change={each} />
        ))}
      </ul>
      {changes.length > most ? (
        <button type="button" onClick={() => setMost(most + SHOWN * 5)}>
          Show more
        </button>
      ) : null}
    </>
  )
}

export function ChangeItem({ change }: { change: Change }) {
  const label = labelOfChange(change)
  const fields = fieldsOf(change)
  return (
    <li class={`change ${classOf(change.op)}-edge`}>
      <div class="row">
        <span class={`sign ${classOf(change.op)}`} aria-hidden="true">
          {signOf(change.op)}
        </span>
        <span class="hidden">{WORDS[change.op]}</span>
        <TypeName name={change.type_name} />
        {label === null ? null : <span class="wrap">{label}</span>}
        <Id id={change.id} />
      </div>
      {fields.length ? (
        <dl class="fields">
          {fields.map((each) => (
            <div key={each.name}>
              <dt class="mono">{each.name}</dt>
              <dd>
                {change.op === 'insert' ? null : (
                  <span class="old">
                    <Value value={each.before} />
                  </span>
                )}
                {change.op === 'update' ? <span aria-label="becomes"> → </span> : null}
                {change.op === 'delete' ? null : (
                  <span class="new">
                    <Value value={each.after} />
                  </span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
    </li>
  )
}
