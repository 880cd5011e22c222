/** Node: one node with its properties, who last set each of them, and its neighbours by edge type. */

import type { Blamed, EdgeGroup, Neighbors } from '../../api/shapes.ts'
import { formatCount } from '../../look/format.ts'
import { Failure, Id, Loading, TypeName, Value, When } from '../../look/parts.tsx'
import { placeFields, useAsked, useStudio } from '../../shell/studio.tsx'
import { formatNode, grownOf, queryOf, type Grown, type NodeName } from './grown.ts'
import { PAGE } from './pages.ts'

export function NodePanel({ node, grown, more, less, close }: { node: NodeName; grown: readonly Grown[]; more: (group: EdgeGroup) => void; less: (group: EdgeGroup) => void; close: () => void }) {
  const { address, href, place } = useStudio()
  const [type, id] = node
  const where = JSON.stringify(placeFields(address))
  const asked = useAsked(`node ${where} ${formatNode(node)}`, (client, signal) => client.get<Neighbors>('/neighbors', { type, id, ...placeFields(address) }, { signal }))
  const blame = useAsked(`blame ${where} ${formatNode(node)}`, (client, signal) => client.get<{ blame: Blamed[] }>('/blame', { type, id, ...placeFields(address) }, { signal }))
  const found = asked.value
  const declared = place.value?.schema.nodes.find((each) => each.name === type)
  const last = grown.filter((each) => each.node[0] === type && each.node[1] === id).at(-1)
  const group = found?.groups.find((each) => each.edge === last?.edge && each.direction === last.direction) ?? null
  const query = declared === undefined || found === null ? null : queryOf(declared, found.node.properties, group)
  return (
    <section class="node-panel stack" aria-label="Node">
      <div class="row spread">
        <h2 class="wrap">{found?.node.label ?? id}</h2>
        <button type="button" class="quiet" aria-label="Close the node" onClick={close}>
          ✕
        </button>
      </div>
      <div class="row">
        <TypeName name={type} /> <Id id={id} />
      </div>
      {asked.error !== null ? <Failure error={asked.error} retry={asked.retry} /> : null}
      {found === null && asked.error === null ? <Loading what="the node" /> : null}
      {found === null ? null : (
        <>
          <Properties properties={found.node.properties} blame={blame.value?.blame ?? []} />
          <h3>Neighbours</h3>
          {found.groups.length === 0 ? <p class="soft">No edges.</p> : null}
          <ul class="plain stack groups">
            {found.groups.map((each) => (
              <Group key={`${each.edge} ${each.direction}`} group={each} grown={grownOf(grown, node, each)} more={() => more(each)} less={() => less(each)} />
            ))}
          </ul>
          {query === null ? null : (
            <>
              <h3>The same as a query</h3>
              <pre class="panel small">{query}</pre>
              <a href={href({ room: 'query', extra: { q: query } })}>Take it to the Query room</a>
            </>
          )}
        </>
      )}
    </section>
  )
}

function Properties({ properties, blame }: { properties: Readonly<Record<string, unknown>>; blame: readonly Blamed[] }) {
  const { href } = useStudio()
  const names = Object.keys(properties).filter((name) => name !== 'id')
  return (
    <dl class="properties">
      {names.map((name) => {
        const set = blame.find((each) => each.property === name)
        return (
          <div key={name}>
            <dt class="mono small">{name}</dt>
            <dd>
              <Value value={properties[name]} />
              {set === undefined ? null : (
                <div class="small soft">
                  <a href={href({ room: 'history', extra: { open: set.commit } })} title={set.message ?? ''}>
                    {set.actor_id ?? 'somebody'}
                  </a>{' '}
                  <When micros={set.created_at} />
                  {set.or_earlier ? ' or earlier' : ''}
                </div>
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

function Group({ group, grown, more, less }: { group: EdgeGroup; grown: Grown | undefined; more: () => void; less: () => void }) {
  const shown = Math.min((grown?.pages ?? 0) * PAGE, group.count)
  return (
    <li class="row spread">
      <span class="row">
        <span aria-label={group.direction === 'out' ? 'leaves' : 'arrives'}>{group.direction === 'out' ? '→' : '←'}</span>
        <TypeName name={group.edge} />
        <TypeName name={group.type} />
        <span class="number">{formatCount(group.count)}</span>
      </span>
      <span class="row small">
        {shown < group.count ? (
          <button type="button" onClick={more}>
            {shown === 0 ? 'Show' : `Show ${formatCount(Math.min(PAGE, group.count - shown))} more`}
          </button>
        ) : null}
        {shown > 0 ? (
          <button type="button" class="quiet" onClick={less}>
            Hide
          </button>
        ) : null}
      </span>
    </li>
  )
}
