/** Form: a field for each parameter of a query. */

import type { QueryParameter } from '../../api/shapes.ts'
import { fieldOf, type Typed } from './parameters.ts'

interface Props {
  parameters: readonly QueryParameter[]
  typed: Typed
  problems: Readonly<Record<string, string>>
  set: (name: string, value: string) => void
  run: () => void
}

export function ParameterForm({ parameters, typed, problems, set, run }: Props) {
  if (parameters.length === 0) return null
  return (
    <form
      class="parameters"
      aria-label="Parameters"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
        event.preventDefault()
        run()
      }}
    >
      {parameters.map((each) => (
        <ParameterField key={each.name} parameter={each} value={typed[each.name] ?? ''} problem={typed[each.name] === undefined ? null : (problems[each.name] ?? null)} set={(value) => set(each.name, value)} />
      ))}
    </form>
  )
}

function ParameterField({ parameter, value, problem, set }: { parameter: QueryParameter; value: string; problem: string | null; set: (value: string) => void }) {
  const field = fieldOf(parameter.type)
  const about = `about-${parameter.name}`
  const common = { value, 'aria-invalid': problem !== null, 'aria-describedby': about, 'data-parameter': parameter.name }
  const typing = (event: { currentTarget: { value: string } }): void => set(event.currentTarget.value)
  return (
    <label>
      <span class="small">
        <code>${parameter.name}</code> <span class="soft mono">{parameter.type}</span>
        {parameter.required ? null : <span class="soft"> optional</span>}
      </span>
      {field.kind === 'choice' ? (
        <select {...common} onChange={typing}>
          <option value="">{parameter.required ? 'choose' : 'null'}</option>
          {field.choices.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : field.kind === 'json' ? (
        <textarea {...common} rows={1} spellcheck={false} placeholder='["a", "b"]' onInput={typing} />
      ) : field.kind === 'date' ? (
        <input {...common} type="date" max="9999-12-31" onInput={typing} />
      ) : (
        <input {...common} type="text" spellcheck={false} autocomplete="off" inputMode={field.kind === 'integer' ? 'numeric' : field.kind === 'decimal' ? 'decimal' : 'text'} placeholder={field.kind === 'time' ? '2026-01-05T09:00:00Z' : ''} onInput={typing} />
      )}
      <span id={about} class="small removed">
        {problem}
      </span>
    </label>
  )
}
