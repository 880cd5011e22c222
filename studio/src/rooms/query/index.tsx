/** Query: ask the graph, or change it: an editor that knows the schema, and answers to look at. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Completions, Explanation, Lint, Profile, QuerySummary, Receipt, StoredQuery } from '../../api/shapes.ts'
import { edgeWord } from '../../graph/naming.ts'
import { Empty, Failure } from '../../look/parts.tsx'
import { placeFields, useAsked, useStudio } from '../../shell/studio.tsx'
import { AnswerView, type Answer } from './answer.tsx'
import { keepAsked, readAsked, withQuestion, type Question } from './asked.ts'
import { QueryEditor } from './editor.ts'
import { ParameterForm } from './form.tsx'
import { meaningAt } from './hover.ts'
import { parseParameters, typedOf, type Typed } from './parameters.ts'
import { askPlan, askRows } from './reading.ts'
import { Shelf } from './shelf.tsx'
import './query.css'

const LINT_MILLIS = 250
const ADDRESS_MILLIS = 400

export type Mode = 'rows' | 'explain' | 'profile'

function parseTyped(text: string | undefined): Typed {
  if (text === undefined) return {}
  try {
    const found: unknown = JSON.parse(text)
    return found !== null && typeof found === 'object' && !Array.isArray(found) ? Object.fromEntries(Object.entries(found).map(([name, value]) => [name, typedOf(value)])) : {}
  } catch {
    // Somebody edited the address by hand; the form is empty then.
    return {}
  }
}

/** Ask for the problems of a text while it is typed; the last answer stays until the next one is there, and is not `isCurrent` then. */
function useLint(text: string): { lint: Lint | null; isCurrent: boolean; error: unknown } {
  const { client, address, epoch } = useStudio()
  const [state, setState] = useState<{ lint: Lint | null; of: string; error: unknown }>({ lint: null, of: '', error: null })
  const asked = JSON.stringify([address.graph, address.branch, address.commit, text])
  useEffect(() => {
    if (text.trim() === '') {
      setState({ lint: { problems: [], queries: [] }, of: asked, error: null })
      return
    }
    const stop = new AbortController()
    const timer = setTimeout(() => {
      client.post<Lint>('/lint', { query_source: text, ...placeFields(address) }, { signal: stop.signal }).then(
        (lint) => setState({ lint, of: asked, error: null }),
        (error: unknown) => stop.signal.aborted || setState((old) => ({ ...old, error })),
      )
    }, LINT_MILLIS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, client, address.branch, address.commit, epoch])
  return { lint: state.lint, isCurrent: state.of === asked, error: state.error }
}

type EditorCalls = ConstructorParameters<typeof QueryEditor>[2]

/** Return the text of the query: it is in the address a moment after it was typed, and comes from there by links. */
function useText(): { text: string; type: (text: string) => void; flush: () => void } {
  const { address, go } = useStudio()
  const linked = address.extra['q'] ?? ''
  const [text, setText] = useState(linked)
  const written = useRef(linked)
  const typed = useRef(linked)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const flush = useCallback(() => {
    if (timer.current !== null) clearTimeout(timer.current)
    timer.current = null
    if (written.current === typed.current) return
    written.current = typed.current
    go({ extra: { q: typed.current, run: null } }, { replace: true })
  }, [go])
  const type = useCallback(
    (changed: string) => {
      if (changed === typed.current) return
      typed.current = changed
      setText(changed)
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = setTimeout(flush, ADDRESS_MILLIS)
    },
    [flush],
  )
  useEffect(() => {
    if (linked === written.current) return
    written.current = linked
    typed.current = linked
    setText(linked)
  }, [linked])
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current)
    },
    [],
  )
  return { text, type, flush }
}

/** Keep an editor that lasts as long as the room; a text that did not come from it replaces its own. */
function useEditor(text: string, calls: EditorCalls) {
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<QueryEditor | null>(null)
  const current = useRef(calls)
  const sent = useRef<string[]>([])
  current.current = calls
  useEffect(() => {
    if (host.current === null) return
    const made = new QueryEditor(host.current, text, {
      change: (changed) => {
        sent.current.push(changed)
        current.current.change(changed)
      },
      run: () => current.current.run(),
      complete: (typed, position, signal) => current.current.complete(typed, position, signal),
      meaning: (typed, at) => current.current.meaning(typed, at),
    })
    editor.current = made
    return () => made.close()
  }, [])
  useEffect(() => {
    // While one types fast, older texts arrive here after newer ones were typed.
    const at = sent.current.lastIndexOf(text)
    if (at >= 0) sent.current.splice(0, at + 1)
    else editor.current?.setText(text)
  }, [text])
  return { host, editor }
}

export default function Query() {
  const studio = useStudio()
  const { address, client, go, may, place } = studio
  const { text, type, flush } = useText()
  const typed = useMemo(() => parseTyped(address.extra['params']), [address.extra['params']])
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' })
  const [message, setMessage] = useState('')
  const [asked, setAsked] = useState<Question[]>(() => readAsked(localStorage))
  const reading = useRef<AbortController | null>(null)
  const [due, setDue] = useState<string | null>(null)
  const answeredFor = useRef('')
  const current = useRef('')
  const { lint, isCurrent, error: lintError } = useLint(text)
  const queries = lint?.queries ?? []
  const query: QuerySummary | undefined = queries.find((each) => each.name === address.extra['name']) ?? queries[0]
  const problems = isCurrent ? (lint?.problems ?? []) : []
  const isBroken = problems.some((each) => each.severity === 'error')
  const parsed = parseParameters(query?.parameters ?? [], typed)
  const isChange = query?.kind === 'change'
  const mayRun = isChange ? may('change') && address.commit === null : may('read')

  const setExtra = useCallback((extra: Record<string, string | null>) => go({ extra }, { replace: true }), [go])

  const where = `${address.graph ?? ''} ${address.branch} ${address.commit ?? ''}`
  const question = [where, text, query?.name, address.extra['params']].join('\n')
  current.current = question
  const lookedAt = useRef(where)
  useEffect(() => {
    if (lookedAt.current === where) return
    lookedAt.current = where
    // What was true there is no answer for here.
    reading.current?.abort()
    // But what becomes of a change is told wherever one looks.
    setAnswer((old) => (old.kind === 'applying' ? old : { kind: 'none' }))
  }, [where])

  const run = async (mode: Mode): Promise<void> => {
    reading.current?.abort()
    flush()
    const isApplying = isChange && mode === 'rows'
    const stop = new AbortController()
    reading.current = isApplying ? null : stop
    answeredFor.current = question
    const body = { query_source: text, ...(query ? { query_name: query.name } : {}), params: parsed.values }
    const began = performance.now()
    setAnswer(isApplying ? { kind: 'applying' } : { kind: 'running', bytes: 0 })
    const options = { signal: stop.signal, progress: (bytes: number) => setAnswer({ kind: 'running', bytes }) }
    try {
      const made = await (isApplying ? applied() : answered())
      if (stop.signal.aborted) return
      setAnswer(made)
      if (mode === 'rows') remember(made, performance.now() - began)
    } catch (error) {
      if (!stop.signal.aborted) setAnswer({ kind: 'failed', error })
    }

    async function answered(): Promise<Answer> {
      const asking = { ...body, ...placeFields(address), mode }
      if (mode === 'explain') return { kind: 'explained', explanation: await askPlan<Explanation>(client, asking, options) }
      if (mode === 'profile') return { kind: 'profiled', profile: await askPlan<Profile>(client, asking, options) }
      const rows = await askRows(client, '/read', asking, options)
      return { kind: 'rows', rows, columns: query?.columns ?? [], millis: performance.now() - began }
    }

    async function applied(): Promise<Answer> {
      const receipt = await client.write<Receipt>('/change', { ...body, branch: address.branch, ...(message ? { message } : {}) })
      setMessage('')
      studio.refresh()
      return { kind: 'applied', receipt }
    }
  }

  const remember = (made: Answer, millis: number): void => {
    // Meanwhile another question may have been typed; that one was not asked.
    if (!isChange && current.current === question) setExtra({ run: '1' })
    const entry: Question = { graph: address.graph ?? '', text, name: query?.name ?? null, params: typed, at: Date.now(), rows: made.kind === 'rows' ? made.rows.row_count : null, millis }
    const list = withQuestion(readAsked(localStorage), entry)
    keepAsked(localStorage, list)
    setAsked(list)
  }

  const isReady = isCurrent && text.trim() !== '' && query !== undefined && !isBroken && Object.keys(parsed.problems).length === 0 && mayRun && answer.kind !== 'applying'
  const runByKey = (): void => {
    if (!isCurrent) setDue(text)
    else if (isReady && !isChange) void run('rows')
  }
  // Who is faster than the server with a text has it run as soon as its parameters and columns are known.
  useEffect(() => {
    if (!isCurrent || due === null) return
    setDue(null)
    if (due === text) runByKey()
  }, [isCurrent, due])
  const { host, editor } = useEditor(text, {
    change: type,
    run: runByKey,
    complete: (source, position, signal) => client.post<Completions>('/complete', { query_source: source, position, ...placeFields(address) }, { signal }),
    meaning: (source, at) => (place.value === null ? null : meaningAt(source, at, place.value.schema)),
  })
  useEffect(() => {
    if (isCurrent) editor.current?.showProblems(text, problems)
  }, [lint])
  // A link to a question that was answered shows the answer; a change is never made by a link.
  const isAsked = address.extra['run'] === '1' && isReady && !isChange
  useEffect(() => {
    if (isAsked && answeredFor.current !== question) void run('rows')
  }, [isAsked, question])
  useEffect(() => () => reading.current?.abort(), [])

  return (
    <div class="query">
      <h1 class="hidden">Query</h1>
      <div class="asking">
        <div class="editor" ref={host} data-main tabIndex={-1} />
        {problems.length ? (
          <ul class="plain problems" aria-label="Problems">
            {problems.slice(0, 20).map((each) => (
              <li key={`${each.start} ${each.code} ${each.message}`}>
                <button type="button" class="quiet" onClick={() => editor.current?.goTo(each)}>
                  <span class={each.severity === 'error' ? 'badge removed' : 'badge changed'}>{each.code}</span>
                  <span>
                    {each.line}:{each.column} {each.message}
                    {each.hint ? <span class="soft">: {each.hint}</span> : null}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        ) : null}
        {lintError === null ? null : <Failure error={lintError} retry={studio.refresh} />}
        {queries.length > 1 ? (
          <label class="chooser">
            <span class="small soft">Which of the queries</span>
            <select value={query?.name} onChange={(event) => setExtra({ name: event.currentTarget.value, run: null })}>
              {queries.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.name} {each.kind === 'change' ? '(changes)' : ''}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <ParameterForm parameters={query?.parameters ?? []} typed={typed} problems={parsed.problems} set={(name, value) => setExtra({ params: JSON.stringify({ ...typed, [name]: value }), run: null })} run={runByKey} />
        <div class="row actions">
          {isChange ? (
            <>
              {mayRun ? (
                <>
                  <input aria-label="Message of the commit" placeholder="what for? (message)" value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
                  <button type="button" class="main" disabled={!isReady || answer.kind === 'running'} onClick={() => void run('rows')}>
                    Commit to {address.branch}
                  </button>
                </>
              ) : (
                <span class="soft">{address.commit === null ? `You may not change ${address.branch}; choose a branch that you may change.` : 'A commit of the past cannot be changed; go back to the newest one.'}</span>
              )}
            </>
          ) : (
            <>
              <button type="button" class="main" title="Run (Ctrl Enter)" disabled={!isReady || answer.kind === 'running'} onClick={() => void run('rows')}>
                Run
              </button>
              <button type="button" disabled={!isReady || answer.kind === 'running'} title="How it would be run" onClick={() => void run('explain')}>
                Explain
              </button>
              <button type="button" disabled={!isReady || answer.kind === 'running'} title="Run it and say what took how long" onClick={() => void run('profile')}>
                Profile
              </button>
            </>
          )}
          {answer.kind === 'running' ? (
            <button
              type="button"
              onClick={() => {
                reading.current?.abort()
                setAnswer({ kind: 'none' })
              }}
            >
              Stop
            </button>
          ) : null}
        </div>
      </div>
      <StoredAndAsked
        asked={asked.filter((each) => each.graph === (address.graph ?? ''))}
        take={(question) => setExtra({ q: question.text, name: question.name, params: Object.keys(question.params).length ? JSON.stringify(question.params) : null, run: null })}
        forget={() => {
          keepAsked(localStorage, [])
          setAsked([])
        }}
      />
      <section class="answering" aria-label="Answer" aria-busy={answer.kind === 'running' || answer.kind === 'applying'}>
        {answer.kind === 'none' ? (
          <Empty title={text.trim() === '' ? 'What do you want to know?' : 'Not asked yet'}>
            <p>
              <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs the query; <kbd>Ctrl</kbd> <kbd>Space</kbd> proposes what can come next.
            </p>
            {text.trim() === '' && place.value !== null ? <Beginnings /> : null}
          </Empty>
        ) : (
          <AnswerView answer={answer} />
        )}
      </section>
    </div>
  )
}

/** Questions to begin with, made from the types of the graph. */
function Beginnings() {
  const { go, place } = useStudio()
  const schema = place.value?.schema
  const node = schema?.nodes[0]
  const edge = schema?.edges.find((each) => each.source === node?.name) ?? schema?.edges[0]
  const texts = [
    ...(node ? [`query all_${node.name.toLowerCase()}() {\n  match { $x: ${node.name} }\n  return { $x }\n  limit 100\n}\n`] : []),
    ...(edge ? [`query pairs() {\n  match { $a: ${edge.source}  $a $e:${edgeWord(edge.name)} $b }\n  return { $a, $e, $b }\n  limit 100\n}\n`] : []),
  ]
  return (
    <div class="row">
      {texts.map((each) => (
        <button key={each} type="button" onClick={() => go({ extra: { q: each } })}>
          {each.startsWith('query pairs') ? `${edge?.source} ${edge?.name} ${edge?.target}` : `All of ${node?.name}`}
        </button>
      ))}
    </div>
  )
}

function StoredAndAsked({ asked, take, forget }: { asked: Question[]; take: (question: Question) => void; forget: () => void }) {
  const { address, may } = useStudio()
  const stored = useAsked(may('invoke_query') ? `queries ${address.branch} ${address.commit ?? ''}` : null, (client, signal) => client.get<{ queries: StoredQuery[] }>('/queries', placeFields(address), { signal }))
  return <Shelf asked={asked} stored={stored} take={take} forget={forget} />
}
