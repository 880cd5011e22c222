/** Differences: what changed from one commit to another, type by type, each asked for when it is opened. */

import { useState } from 'preact/hooks'
import type { Diff } from '../api/shapes.ts'
import { counted, formatCount } from '../look/format.ts'
import { Changes, Failure, Loading, TypeName } from '../look/parts.tsx'
import { useAsked } from '../shell/studio.tsx'
import { ChangeList, SchemaSteps } from './change.tsx'
import { askChanges } from './fetch.ts'

const FEW = 200

export function Differences({ diff, from, to }: { diff: Diff; from: string; to: string }) {
  const names = Object.keys(diff.stats).filter((name) => Object.values(diff.stats[name] ?? {}).some(Boolean))
  const rows = names.reduce((sum, name) => sum + Object.values(diff.stats[name] ?? {}).reduce((all, each) => all + each, 0), 0)
  return (
    <div class="stack">
      <SchemaSteps steps={diff.schema_steps} />
      {names.length === 0 ? <p class="soft">No rows changed.</p> : null}
      {names.map((name) => (
        <TypeChanges key={name} name={name} diff={diff} from={from} to={to} isOpen={rows <= FEW} />
      ))}
    </div>
  )
}

/** The changes of one type, asked for when they are opened. */
function TypeChanges({ name, diff, from, to, isOpen }: { name: string; diff: Diff; from: string; to: string; isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen)
  const counts = diff.stats[name] ?? { insert: 0, update: 0, delete: 0 }
  const total = counts.insert + counts.update + counts.delete
  const asked = useAsked(open ? `changes ${from} ${to} ${name}` : null, (client, signal) => askChanges(client, { from, to, types: [name] }, signal))
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="type-changes">
        <TypeName name={name} /> <Changes op="insert" count={counts.insert} /> <Changes op="delete" count={counts.delete} /> <Changes op="update" count={counts.update} />
      </summary>
      {asked.error !== null ? <Failure error={asked.error} retry={asked.retry} /> : null}
      {open && asked.value === null && asked.error === null ? <Loading what={name} lines={3} /> : null}
      {asked.value === null ? null : (
        <div class="stack">
          {asked.value.isCut ? (
            <p class="small changed">
              The first {formatCount(asked.value.changes.length)} of {counted(total, 'row')}. <code>omnigraph diff</code> lists all.
            </p>
          ) : null}
          <ChangeList changes={asked.value.changes} />
        </div>
      )}
    </details>
  )
}
