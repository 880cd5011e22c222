/** Shelf: queries that are stored with the graph, and questions that were asked before. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Receipt, StoredQuery } from '../../api/shapes.ts'
import { counted, cut, formatMillis } from '../../look/format.ts'
import { Failure, Loading, When } from '../../look/parts.tsx'
import { placeFields, useStudio, type Asked } from '../../shell/studio.tsx'
import type { Answer } from './answer.tsx'
import { AnswerView } from './answer.tsx'
import type { Question } from './asked.ts'
import { ParameterForm } from './form.tsx'
import { parseParameters, type Typed } from './parameters.ts'
import { askRows } from './reading.ts'
import { storedParameters } from './stored.ts'

export function Shelf({ asked, stored, take, forget }: { asked: Question[]; stored: Asked<{ queries: StoredQuery[] }>; take: (question: Question) => void; forget: () => void }) {
  const [opened, setOpened] = useState<string | null>(null)
  const queries = stored.value?.queries ?? []
  return (
    <aside class="shelf" aria-label="Stored and asked">
      <details open={queries.length > 0}>
        <summary>
          Stored queries <span class="soft">{queries.length || ''}</span>
        </summary>
        {stored.error !== null ? <Failure error={stored.error} retry={stored.retry} /> : null}
        {stored.isLoading && stored.value === null ? <Loading what="stored queries" lines={3} /> : null}
        {stored.value !== null && queries.length === 0 ? <p class="soft small">There are none that you may run; <code>queries:</code> of omnigraph.yaml names them.</p> : null}
        <ul class="plain">
          {queries.map((each) => (
            <li key={each.name}>
              <button type="button" class="quiet entry" aria-expanded={opened === each.name} onClick={() => setOpened(opened === each.name ? null : each.name)}>
                <code>{each.name}</code>
                {each.kind === 'change' ? <span class="badge changed">~ changes</span> : null}
                {each.problem === null ? null : (
                  <span class="badge removed" title={each.problem}>
                    does not fit
                  </span>
                )}
                <span class="small soft about">{each.description}</span>
              </button>
              {opened === each.name ? <Stored key={each.name} query={each} /> : null}
            </li>
          ))}
        </ul>
      </details>
      <details open>
        <summary>
          Asked before <span class="soft">{asked.length || ''}</span>
        </summary>
        {asked.length === 0 ? <p class="soft small">What you ask is listed here, in this browser only.</p> : null}
        <ul class="plain">
          {asked.map((each) => (
            <li key={each.at}>
              <button type="button" class="quiet entry" onClick={() => take(each)}>
                <code class="about">{cut(each.text.replace(/\s+/g, ' ').trim(), 90)}</code>
                <span class="small soft about">
                  <When micros={each.at * 1000} />
                  {each.rows === null ? '' : ` · ${counted(each.rows, 'row')}`} · {formatMillis(each.millis)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {asked.length ? (
          <button type="button" class="quiet small" onClick={forget}>
            Forget all
          </button>
        ) : null}
      </details>
    </aside>
  )
}

/** A stored query with its form; it is run by its name, so that it needs no right but that. */
function Stored({ query }: { query: StoredQuery }) {
  const { address, client, may, refresh } = useStudio()
  const [typed, setTyped] = useState<Typed>({})
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' })
  const parameters = storedParameters(query)
  const parsed = parseParameters(parameters, typed)
  const isChange = query.kind === 'change'
  const mayRun = query.problem === null && (!isChange || (may('change') && address.commit === null))
  const isReady = mayRun && Object.keys(parsed.problems).length === 0 && answer.kind !== 'running' && answer.kind !== 'applying'
  const path = `/queries/${encodeURIComponent(query.name)}`
  const reading = useRef<AbortController | null>(null)
  useEffect(() => () => reading.current?.abort(), [])
  const change = async (): Promise<Answer> => {
    setAnswer({ kind: 'applying' })
    const receipt = await client.write<Receipt>(path, { params: parsed.values, branch: address.branch })
    refresh()
    return { kind: 'applied', receipt }
  }
  const read = async (signal: AbortSignal): Promise<Answer> => {
    const began = performance.now()
    setAnswer({ kind: 'running', bytes: 0 })
    const rows = await askRows(client, path, { params: parsed.values, ...placeFields(address) }, { signal, progress: (bytes) => setAnswer({ kind: 'running', bytes }) })
    return { kind: 'rows', rows, columns: query.columns, millis: performance.now() - began }
  }
  const run = async (): Promise<void> => {
    if (!isReady) return
    const stop = new AbortController()
    reading.current = stop
    try {
      setAnswer(await (isChange ? change() : read(stop.signal)))
    } catch (error) {
      setAnswer(stop.signal.aborted ? { kind: 'none' } : { kind: 'failed', error })
    }
  }
  return (
    <div class="stored stack">
      {query.problem === null ? null : <p class="removed small">{query.problem}</p>}
      {query.instruction === null ? null : <p class="small soft">{query.instruction}</p>}
      <ParameterForm parameters={parameters} typed={typed} problems={parsed.problems} set={(name, value) => setTyped({ ...typed, [name]: value })} run={() => void run()} />
      {mayRun ? (
        <div class="row">
          <button type="button" class={isChange ? 'main' : ''} disabled={!isReady} onClick={() => void run()}>
            {isChange ? `Commit to ${address.branch}` : `Run ${query.name}`}
          </button>
          {answer.kind === 'running' ? (
            <button type="button" onClick={() => reading.current?.abort()}>
              Stop
            </button>
          ) : null}
        </div>
      ) : query.problem === null ? (
        <p class="soft small">You may not change {address.branch}.</p>
      ) : null}
      {answer.kind === 'none' ? null : (
        <div class="small-answer">
          <AnswerView answer={answer} isSmall />
        </div>
      )}
    </div>
  )
}
