/** Overview: what is in the graph: its types with counts, its branches, its last commits, its health. */

import { useMemo } from 'preact/hooks'
import type { BranchStatus, Commit, IndexCoverage, Schema } from '../../api/shapes.ts'
import { counted, formatCount, typeOfTable } from '../../look/format.ts'
import { Empty, Failure, Id, Loading, TypeName, When } from '../../look/parts.tsx'
import { placeFields, useAsked, useStudio, type Asked, type Place } from '../../shell/studio.tsx'
import { Diagram } from './diagram.tsx'
import { indexHealth } from './health.ts'
import './overview.css'

const SHOWN_COMMITS = 8
const SHOWN_BRANCHES = 50
const SHOWN_INDEXES = 8

export default function Overview() {
  const { place } = useStudio()
  if (place.error !== null && place.value === null) return <Failure error={place.error} retry={place.retry} />
  return (
    <div class="overview">
      <h1 class="hidden">Overview</h1>
      {place.value === null ? <Loading what="the types" lines={8} /> : <Types place={place.value} />}
      <div class="columns">
        <Branches />
        <Commits />
        <Health />
      </div>
    </div>
  )
}

function Types({ place }: { place: Place }) {
  const { address, go } = useStudio()
  const { schema, snapshot } = place
  const selected = address.extra['type'] ?? null
  const counts = useMemo(() => new Map(snapshot.tables.map((each) => [each.table_key, each.row_count])), [snapshot])
  const total = (kind: string): number => [...counts].reduce((sum, [key, count]) => sum + (key.startsWith(kind) ? count : 0), 0)
  const select = (name: string): void => go({ extra: { type: name === selected ? null : name } }, { replace: true })
  if (schema.nodes.length === 0) return <Empty title="The graph has no types yet">Apply a schema with <code>omnigraph schema apply</code>.</Empty>
  return (
    <section class="types" aria-label="Types">
      <div class="row spread">
        <h2>
          {counted(total('node:'), 'node')}, {counted(total('edge:'), 'edge')}
        </h2>
        <span class="soft small">
          commit <Id id={snapshot.commit} />
        </span>
      </div>
      <div class="picture">
        <Diagram schema={schema} counts={counts} selected={selected} select={select} />
        <TypeTable schema={schema} counts={counts} selected={selected} select={select} />
      </div>
    </section>
  )
}

function TypeTable({ schema, counts, selected, select }: { schema: Schema; counts: Map<string, number>; selected: string | null; select: (name: string) => void }) {
  const rows = [
    ...schema.nodes.map((each) => ({ each, key: `node:${each.name}`, joins: each.implements.join(', ') })),
    ...schema.edges.map((each) => ({ each, key: `edge:${each.name}`, joins: `${each.source} → ${each.target}` })),
  ]
  return (
    <div class="type-table scroll">
      <table>
        <caption class="hidden">Types with their counts</caption>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Joins, is</th>
            <th scope="col" class="number">
              Rows
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ each, key, joins }) => (
            <>
              <tr key={key}>
                <td>
                  <button type="button" class="quiet" aria-expanded={each.name === selected} onClick={() => select(each.name)}>
                    <TypeName name={each.name} />
                  </button>
                </td>
                <td class="soft small">{joins}</td>
                <td class="number">{formatCount(counts.get(key) ?? 0)}</td>
              </tr>
              {each.name === selected ? (
                <tr key={`${key} open`}>
                  <td colSpan={3} class="opened">
                    {each.description === null ? null : <p>{each.description}</p>}
                    {each.properties.length === 0 ? <p class="soft">no properties</p> : null}
                    <ul class="plain">
                      {each.properties.map((property) => (
                        <li key={property.name} title={property.description ?? ''}>
                          <code>{property.name}</code>{' '}
                          <span class="soft mono">
                            {property.type}
                            {property.nullable ? '?' : ''}
                          </span>
                        </li>
                      ))}
                    </ul>
                  </td>
                </tr>
              ) : null}
            </>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A panel whose content is asked for: shows that it is on its way, or why it is not there. */
function Panel<T>({ title, asked, children }: { title: string; asked: Asked<T>; children: (value: T) => preact.ComponentChildren }) {
  return (
    <section class="panel stack" aria-label={title}>
      <h2>{title}</h2>
      {asked.error !== null ? <Failure error={asked.error} retry={asked.retry} /> : null}
      {asked.value !== null ? children(asked.value) : asked.error === null ? <Loading what={title.toLowerCase()} /> : null}
    </section>
  )
}

function Branches() {
  const { address, href } = useStudio()
  const asked = useAsked('branches/status', (client, signal) => client.get<{ branches: BranchStatus[]; cursor: string | null }>('/branches/status', { limit: SHOWN_BRANCHES }, { signal }))
  return (
    <Panel title="Branches" asked={asked}>
      {({ branches, cursor }) => (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Branch</th>
                <th scope="col" class="number" title="commits that main does not have">
                  Ahead
                </th>
                <th scope="col" class="number" title="commits of main that it does not have">
                  Behind
                </th>
                <th scope="col">Last commit</th>
              </tr>
            </thead>
            <tbody>
              {branches.map((each) => (
                <tr key={each.name}>
                  <td class="wrap">
                    <a href={href({ branch: each.name, commit: null })} aria-current={each.name === address.branch}>
                      {each.name}
                    </a>{' '}
                    {each.review === null ? null : <span class="badge">{each.review.replace('_', ' ')}</span>}
                  </td>
                  <td class="number">{each.ahead || ''}</td>
                  <td class="number">{each.behind || ''}</td>
                  <td class="small">
                    <When micros={each.created_at} /> {each.actor_id}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {cursor === null ? null : <p class="soft small">There are more; choose one with <kbd>b</kbd>.</p>}
        </div>
      )}
    </Panel>
  )
}

function Commits() {
  const { address, href } = useStudio()
  const asked = useAsked(`commits ${address.branch}`, (client, signal) => client.get<{ commits: Commit[] }>('/commits', { branch: address.branch, limit: SHOWN_COMMITS }, { signal }))
  return (
    <Panel title="Last commits" asked={asked}>
      {({ commits }) => (
        <ul class="plain commits">
          {commits.map((each) => (
            <li key={each.graph_commit_id}>
              <div class="wrap">{each.message ?? <span class="soft">{each.kind}</span>}</div>
              <div class="small soft">
                <a href={href({ room: 'history', extra: { open: each.graph_commit_id } })}>
                  <Id id={each.graph_commit_id} />
                </a>{' '}
                · <When micros={each.created_at} />
                {each.actor_id ? ` · ${each.actor_id}` : ''}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Health() {
  const { address } = useStudio()
  const asked = useAsked(`coverage ${address.branch} ${address.commit ?? ''}`, (client, signal) =>
    client.get<{ indexes: IndexCoverage[] }>('/coverage', placeFields(address), { signal }),
  )
  return (
    <Panel title="Health" asked={asked}>
      {({ indexes }) => {
        const health = indexHealth(indexes)
        return (
          <>
            <p>{health.pending.length === 0 ? <span class="badge added">✓ nothing to be done</span> : <span class="badge changed">~ {counted(health.pending.length, 'index', 'indexes')} to be completed</span>}</p>
            {health.pending.length ? (
              <>
                <ul class="plain small">
                  {health.pending.slice(0, SHOWN_INDEXES).map((each) => (
                    <li key={`${each.table_key} ${each.column} ${each.kind}`}>
                      <code>
                        {typeOfTable(each.table_key)}.{each.column}
                      </code>{' '}
                      {each.kind}: {counted(each.rows_pending, 'row')} not indexed
                    </li>
                  ))}
                </ul>
                <p class="soft small">
                  <code>omnigraph optimize</code> completes them.
                </p>
              </>
            ) : null}
            {[...health.left].map(([reason, count]) => (
              <p key={reason} class="soft small">
                {counted(count, 'index', 'indexes')} left alone: {reason}
              </p>
            ))}
          </>
        )
      }}
    </Panel>
  )
}
