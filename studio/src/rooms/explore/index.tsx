/** Explore: find nodes by words and meaning, open them, follow their edges on a canvas, and go back in time. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Client } from '../../api/client.ts'
import type { Commit, Hit, Hits, Row, Rows } from '../../api/shapes.ts'
import { GraphCanvas } from '../../graph/canvas.tsx'
import { labelOf } from '../../graph/naming.ts'
import { counted, exactTime } from '../../look/format.ts'
import { Empty, Failure, Loading, TypeName } from '../../look/parts.tsx'
import { placeFields, useAsked, useStudio } from '../../shell/studio.tsx'
import { draw, formatGrown, formatNode, grow, keyOfNode, nodeOfKey, parseGrown, parseNode, type Fetched, type Grown, type NodeName } from './grown.ts'
import { NodePanel } from './node.tsx'
import { askGrown, type ReadPages } from './pages.ts'
import './explore.css'

const PAUSE_MILLIS = 250
const SHOWN_HITS = 30
const COMMITS = 200

export default function Explore() {
  const { address, go, place } = useStudio()
  const node = parseNode(address.extra['node'])
  const grown = useMemo(() => parseGrown(address.extra['grown']), [address.extra['grown']])
  const select = (found: NodeName | null): void => go({ extra: { node: found === null ? null : formatNode(found) } })
  const setGrown = (all: readonly Grown[]): void => go({ extra: { grown: all.length ? formatGrown(all) : null } })
  if (place.error !== null && place.value === null) return <Failure error={place.error} retry={place.retry} />
  return (
    <div class={node === null ? 'explore' : 'explore opened'}>
      <h1 class="hidden">Explore</h1>
      <Found selected={node} select={select} />
      {node === null && grown.length === 0 ? null : <Drawn node={node} grown={grown} select={select} clear={() => go({ extra: { node: null, grown: null } })} />}
      {node === null ? null : <NodePanel node={node} grown={grown} more={(group) => setGrown(grow(grown, node, group, 1))} less={(group) => setGrown(grow(grown, node, group, 'none'))} close={() => select(null)} />}
    </div>
  )
}

function useTyped(): [string, string, (text: string) => void] {
  const { address, go } = useStudio()
  const asked = address.extra['q'] ?? ''
  const [typed, setTyped] = useState(asked)
  const written = useRef(asked)
  useEffect(() => {
    // What was typed here is in the address a moment later; more may have been typed since.
    if (asked === written.current) return
    written.current = asked
    setTyped(asked)
  }, [asked])
  useEffect(() => {
    if (typed === asked) return
    const timer = setTimeout(() => {
      written.current = typed
      go({ extra: { q: typed || null } }, { replace: true })
    }, PAUSE_MILLIS)
    return () => clearTimeout(timer)
  }, [typed])
  return [asked, typed, setTyped]
}

/** Return the first nodes of a type, as hits, for those who have no words yet. */
async function firstOf(client: Client, type: string, where: Record<string, string>, signal: AbortSignal): Promise<Hits> {
  const rows = await client.post<Rows>('/read', { query_source: `match { $n: ${type} } return { $n as n } limit ${SHOWN_HITS}`, ...where }, { signal })
  const hits = rows.rows.map((row): Hit => {
    const found = row['n'] as Row
    return { type, id: String(found['id']), label: labelOf(found), score: 0, matched: { property: '', excerpt: '' } }
  })
  return { hits, notes: [] }
}

/** The search box, the types to filter by, and what was found as cards. */
function Found({ selected, select }: { selected: NodeName | null; select: (node: NodeName) => void }) {
  const { address, go, place } = useStudio()
  const [asked, typed, setTyped] = useTyped()
  const type = address.extra['type'] ?? null
  const where = placeFields(address) as Record<string, string>
  const key = asked ? `search ${JSON.stringify(where)} ${type ?? ''} ${asked}` : type === null ? null : `first ${JSON.stringify(where)} ${type}`
  const found = useAsked(key, (client, signal) =>
    asked ? client.get<Hits>('/search', { text: asked, ...(type === null ? {} : { type: [type] }), limit: SHOWN_HITS, ...where }, { signal }) : firstOf(client, type ?? '', where, signal),
  )
  return (
    <section class="found stack" aria-label="Search">
      <label>
        <span class="hidden">Search</span>
        <input type="search" data-main value={typed} placeholder="Search by words, meaning or key" onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <div class="row small" role="group" aria-label="Types">
        {place.value?.schema.nodes.map((each) => (
          <button key={each.name} type="button" aria-pressed={each.name === type} onClick={() => go({ extra: { type: each.name === type ? null : each.name } })}>
            <TypeName name={each.name} />
          </button>
        ))}
      </div>
      {found.error !== null ? <Failure error={found.error} retry={found.retry} /> : null}
      {key === null ? <Empty title="Find a node">Type some words, or choose a type to see its first nodes.</Empty> : null}
      {key !== null && found.value === null && found.error === null ? <Loading what="what was found" /> : null}
      {found.value?.hits.length === 0 ? <Empty title="Nothing was found">{asked ? 'Try other words, or fewer of them.' : `There is no ${type} here yet.`}</Empty> : null}
      <ul class="plain cards">
        {found.value?.hits.map((each) => (
          <li key={keyOfNode([each.type, each.id])}>
            <button type="button" class="card" aria-pressed={selected !== null && selected[0] === each.type && selected[1] === each.id} onClick={() => select([each.type, each.id])}>
              <span class="row">
                <TypeName name={each.type} /> <strong class="wrap">{each.label}</strong>
              </span>
              {each.matched.excerpt ? (
                <span class="small soft fold">
                  {each.matched.property}: {each.matched.excerpt}
                </span>
              ) : null}
            </button>
          </li>
        ))}
      </ul>
      {found.value?.notes.map((each) => (
        <p key={each} class="small soft">
          {each}
        </p>
      ))}
    </section>
  )
}

/** The canvas with all that grew, and the slider over the commits of the branch. */
function Drawn({ node, grown, select, clear }: { node: NodeName | null; grown: readonly Grown[]; select: (node: NodeName | null) => void; clear: () => void }) {
  const { address, epoch } = useStudio()
  const where = placeFields(address) as Record<string, string>
  // What was read elsewhere, or before everything is asked for again, may be otherwise now.
  const read = useMemo<ReadPages>(() => new Map(), [address.graph, address.branch, address.commit, epoch])
  const fetched = useAsked(`grown ${JSON.stringify(where)} ${formatGrown(grown)}`, (client, signal) =>
    // A node that was not there at that time has grown nothing then.
    Promise.all(grown.map((each) => askGrown(client, each, where, read, signal).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error))))),
  )
  const [last, setLast] = useState<(Fetched | null)[]>([])
  useEffect(() => {
    if (fetched.value !== null) setLast(fetched.value)
  }, [fetched.value])
  const start = node === null ? null : { node, label: node[1] }
  const shown = useMemo(() => draw(start, last.filter((each) => each !== null)), [last, address.extra['node']])
  return (
    <section class="drawn stack" aria-label="Canvas">
      <TimeSlider />
      {fetched.error !== null ? <Failure error={fetched.error} retry={fetched.retry} /> : null}
      <div class="canvas-box">
        <GraphCanvas nodes={shown.nodes} edges={shown.edges} selected={node === null ? null : keyOfNode(node)} select={(key) => select(key === null ? null : nodeOfKey(key))} open={(key) => select(nodeOfKey(key))} name={`explore-${address.branch}`} />
      </div>
      <div class="row spread small">
        <span class="soft" role="status">
          {counted(shown.nodes.length, 'node')}, {counted(shown.edges.length, 'edge')}
        </span>
        <button type="button" onClick={clear}>
          Clear the canvas
        </button>
      </div>
    </section>
  )
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 404
}

/** Moves what is looked at over the commits of the branch, the newest at the right. */
function TimeSlider() {
  const { address, go } = useStudio()
  const asked = useAsked(`commits ${address.branch}`, (client, signal) => client.get<{ commits: Commit[]; cursor: string | null }>('/commits', { branch: address.branch, limit: COMMITS }, { signal }))
  const commits = useMemo(() => [...(asked.value?.commits ?? [])].reverse(), [asked.value])
  if (commits.length < 2) return null
  const at = address.commit === null ? commits.length - 1 : commits.findIndex((each) => each.graph_commit_id === address.commit)
  const shown = commits[at]
  const move = (to: number): void => {
    const commit = commits[to]
    if (commit !== undefined) go({ commit: to === commits.length - 1 ? null : commit.graph_commit_id }, { replace: true })
  }
  return (
    <label class="time">
      <span class="row spread small">
        <span class="soft">{shown === undefined ? 'before these commits' : `${exactTime(shown.created_at)} · ${shown.message ?? shown.kind}`}</span>
        <span class="soft">
          commit {at + 1} of {asked.value?.cursor ? 'the newest ' : ''}
          {commits.length}
        </span>
      </span>
      <input type="range" aria-label="Time" min={0} max={commits.length - 1} value={at < 0 ? 0 : at} onChange={(event) => move(Number(event.currentTarget.value))} />
    </label>
  )
}
