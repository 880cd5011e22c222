/** Answer: what a query gave, as a table, as a graph, as JSON, or as the plan by which it is run. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { writeJson } from '../../api/json.ts'
import type { Explanation, Profile, QueryColumn, Receipt, Rows } from '../../api/shapes.ts'
import { GraphCanvas } from '../../graph/canvas.tsx'
import { counted, formatBytes, formatCount, formatMillis } from '../../look/format.ts'
import { Changes, Empty, Failure, Id, Loading, Value } from '../../look/parts.tsx'
import { saveFile } from '../../look/save.ts'
import { useStudio } from '../../shell/studio.tsx'
import { VirtualTable, type TableColumn } from '../../table/table.tsx'
import { widthFor, type Cell } from '../../table/rows.ts'
import { toCsv } from './csv.ts'
import { drawRows, entityText } from './drawing.ts'
import { explainedLines, profiledLines, type PlanLine } from './plan.ts'

export type Answer =
  | { kind: 'none' }
  | { kind: 'running'; bytes: number }
  | { kind: 'applying' }
  | { kind: 'rows'; rows: Rows; columns: QueryColumn[]; millis: number }
  | { kind: 'explained'; explanation: Explanation }
  | { kind: 'profiled'; profile: Profile }
  | { kind: 'applied'; receipt: Receipt }
  | { kind: 'failed'; error: unknown }

const SAMPLE = 200
const MOST_JSON = 500

export function AnswerView({ answer, isSmall = false }: { answer: Answer; isSmall?: boolean }) {
  switch (answer.kind) {
    case 'none':
      return null
    case 'running':
      return (
        <div class="stack">
          <p class="soft" role="status">
            running{answer.bytes ? `, ${formatBytes(answer.bytes)} so far` : ''}
          </p>
          <Loading what="the answer" />
        </div>
      )
    case 'applying':
      return (
        <div class="stack">
          <p class="soft" role="status">
            Committing. It goes on when you go to another room.
          </p>
          <Loading what="what was changed" />
        </div>
      )
    case 'failed':
      return <Failure error={answer.error} />
    case 'applied':
      return <Applied receipt={answer.receipt} />
    case 'explained':
      return <Plan lines={explainedLines(answer.explanation)} road={String(answer.explanation.road?.['road'] ?? '')} />
    case 'profiled':
      return <Plan lines={profiledLines(answer.profile)} road={answer.profile.road} />
    case 'rows':
      return <RowsView answer={answer} isSmall={isSmall} />
  }
}

function Applied({ receipt }: { receipt: Receipt }) {
  const { href } = useStudio()
  return (
    <div class="stack" role="status">
      <p class="row">
        {receipt.commit === null ? 'Nothing was to be changed on ' : 'Changed '}
        {receipt.branch}: <Changes op="insert" count={receipt.inserted ?? 0} />
        <Changes op="update" count={receipt.updated ?? 0} />
        <Changes op="delete" count={receipt.deleted ?? 0} />
        {receipt.unchanged ? <span class="soft">{formatCount(receipt.unchanged)} were so already</span> : null}
      </p>
      {receipt.commit === null ? null : (
        <p>
          <a href={href({ room: 'history', extra: { open: receipt.commit } })}>
            Commit <Id id={receipt.commit} />
          </a>
        </p>
      )}
    </div>
  )
}

type View = 'table' | 'graph' | 'json'

function RowsView({ answer, isSmall }: { answer: Extract<Answer, { kind: 'rows' }>; isSmall: boolean }) {
  const { address, go, place } = useStudio()
  const [own, setOwn] = useState<View>('table')
  const view = isSmall ? own : ((['graph', 'json'] as const).find((each) => each === address.extra['view']) ?? 'table')
  const show = (next: View): void => (isSmall ? setOwn(next) : go({ extra: { view: next === 'table' ? null : next } }, { replace: true }))
  const { rows, columns, millis } = answer
  const isCut = rows.rows.length < rows.row_count
  const drawing = useMemo(() => (place.value === null ? null : drawRows(rows.rows, columns, place.value.schema)), [rows, columns, place.value])
  const views: View[] = drawing !== null && drawing.nodes.length > 0 ? ['table', 'graph', 'json'] : ['table', 'json']
  return (
    <div class="rows">
      <div class="row spread">
        <div class="tabs" role="tablist" aria-label="Answer as">
          {views.map((each) => (
            <button key={each} type="button" role="tab" aria-selected={view === each} onClick={() => show(each)}>
              {each === 'json' ? 'JSON' : each === 'table' ? 'Table' : 'Graph'}
            </button>
          ))}
        </div>
        <span class="row small">
          <span class="soft" role="status">
            {counted(rows.row_count, 'row')} in {formatMillis(millis)}
            {rows.graph_commit_id ? (
              <>
                {' '}
                at <Id id={rows.graph_commit_id} />
              </>
            ) : null}
          </span>
          <button type="button" class="quiet" onClick={() => saveFile(new Blob([toCsv(rows.columns, columns, rows.rows)], { type: 'text/csv' }), `${rows.query_name}.csv`)}>
            CSV
          </button>
          <button type="button" class="quiet" onClick={() => saveFile(new Blob([writeJson(rows.rows, 2)], { type: 'application/json' }), `${rows.query_name}.json`)}>
            JSON
          </button>
        </span>
      </div>
      {isCut ? (
        <p class="changed small" role="alert">
          Only the first {formatCount(rows.rows.length)} of {counted(rows.row_count, 'row')} are here: the answer is larger than the page holds. Table, graph, CSV and JSON have no others. Add a <code>limit</code>, return fewer columns, or let <code>omnigraph read</code> write all of it to a file.
        </p>
      ) : null}
      {rows.row_count === 0 ? (
        <Empty title="No rows">Nothing in the graph matches.</Empty>
      ) : view === 'json' ? (
        <Json rows={rows} />
      ) : view === 'graph' && drawing !== null && drawing.nodes.length > 0 ? (
        <Graph drawing={drawing} name={rows.query_name} />
      ) : (
        <TableView rows={rows} columns={columns} />
      )}
    </div>
  )
}

function TableView({ rows, columns }: { rows: Rows; columns: readonly QueryColumn[] }) {
  const [cell, setCell] = useState<Cell | null>(null)
  useEffect(() => setCell(null), [rows])
  const shown = useMemo<TableColumn[]>(
    () =>
      rows.columns.map((name) => {
        const sample = rows.rows.slice(0, SAMPLE).map((row) => row[name])
        const type = columns.find((each) => each.name === name)?.type
        const isNumber = sample.some((each) => typeof each === 'number' || typeof each === 'bigint') && sample.every((each) => each === null || typeof each === 'number' || typeof each === 'bigint')
        return { name, width: widthFor(name + (type ?? ''), sample.map(entityText)), isNumber, ...(type === undefined ? {} : { about: type }) }
      }),
    [rows, columns],
  )
  const value = cell === null ? null : rows.rows[cell.row]?.[rows.columns[cell.column] ?? '']
  return (
    <div class={cell === null ? 'table-view' : 'table-view with-detail'}>
      <VirtualTable
        label="Rows"
        columns={shown}
        count={rows.rows.length}
        selected={cell}
        select={setCell}
        text={(row, column) => {
          const found = rows.rows[row]?.[rows.columns[column] ?? '']
          return found === null || found === undefined ? null : entityText(found)
        }}
      />
      {cell === null ? null : (
        <section class="panel detail stack" aria-label="The whole value">
          <div class="row spread">
            <h3 class="wrap">
              {rows.columns[cell.column]} <span class="soft">of row {formatCount(cell.row + 1)}</span>
            </h3>
            <button type="button" class="quiet" aria-label="Close the value" onClick={() => setCell(null)}>
              ✕
            </button>
          </div>
          {value !== null && typeof value === 'object' ? <pre>{writeJson(value, 2)}</pre> : <Value value={value} />}
        </section>
      )}
    </div>
  )
}

function Json({ rows }: { rows: Rows }) {
  const text = useMemo(() => writeJson(rows.rows.slice(0, MOST_JSON), 2), [rows])
  return (
    <div class="stack json">
      {rows.rows.length > MOST_JSON ? <p class="soft small">The first {formatCount(MOST_JSON)} of {counted(rows.rows.length, 'row')}; the button JSON saves all of these.</p> : null}
      <pre tabIndex={0} aria-label="Rows as JSON" role="region">
        {text}
      </pre>
    </div>
  )
}

function Graph({ drawing, name }: { drawing: ReturnType<typeof drawRows>; name: string }) {
  const { address, go } = useStudio()
  return (
    <div class="stack graph">
      {drawing.isLoose ? <p class="soft small">Dashed lines join nodes of the same row. Return the edge as well, as in <code>$a $e:knows $b</code>, to see it.</p> : null}
      {drawing.isCut ? <p class="changed small">Only the first {formatCount(drawing.nodes.length)} nodes are drawn.</p> : null}
      <GraphCanvas nodes={drawing.nodes} edges={drawing.edges} selected={address.extra['select'] ?? null} select={(key) => go({ extra: { select: key } }, { replace: true })} name={name} />
    </div>
  )
}

function Plan({ lines, road }: { lines: PlanLine[]; road: string }) {
  const slowest = Math.max(0, ...lines.map((each) => each.millis ?? 0))
  const total = lines.reduce((sum, each) => sum + (each.millis ?? 0), 0)
  const isProfile = lines.some((each) => each.millis !== null)
  return (
    <div class="stack">
      <p class="soft">
        {road ? `by ${road}` : ''}
        {isProfile ? `, ${formatMillis(total)} in all` : ''}
      </p>
      <div class="scroll">
        <table class="plan">
          <thead>
            <tr>
              <th scope="col">Operator</th>
              <th scope="col" class="number">
                Expected
              </th>
              {isProfile ? (
                <>
                  <th scope="col" class="number">
                    Rows
                  </th>
                  <th scope="col" class="number">
                    Time
                  </th>
                  <th scope="col" class="number">
                    Read
                  </th>
                </>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {lines.map((each, at) => (
              <PlanRows key={at} line={each} depth={0} isProfile={isProfile} slowest={slowest} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

/** Whether what was expected is so far off that a plan may be wrong because of it. */
function isOff(line: PlanLine): boolean {
  return line.rows !== null && line.expected !== null && Math.max(line.rows, line.expected) > 100 && (line.rows > line.expected * 10 || line.expected > line.rows * 10)
}

function PlanRows({ line, depth, isProfile, slowest }: { line: PlanLine; depth: number; isProfile: boolean; slowest: number }) {
  return (
    <>
      <tr>
        <td style={{ paddingLeft: `${8 + depth * 24}px` }}>
          <span class="operator">
            {depth ? '↳ ' : ''}
            {line.title}
          </span>{' '}
          <span class="mono soft wrap">{line.about}</span>
        </td>
        <td class={isOff(line) ? 'number changed' : 'number'}>{line.expected === null ? '' : formatCount(line.expected)}</td>
        {isProfile ? (
          <>
            <td class="number">{line.rows === null ? '' : formatCount(line.rows)}</td>
            <td class="number">
              {line.millis === null ? '' : formatMillis(line.millis)}
              <meter min={0} max={slowest || 1} value={line.millis ?? 0} aria-label={`part of the slowest: ${line.title}`} />
            </td>
            <td class="number">{line.bytes === null ? '' : formatBytes(line.bytes)}</td>
          </>
        ) : null}
      </tr>
      {line.inner.map((each, at) => (
        <PlanRows key={at} line={each} depth={depth + 1} isProfile={isProfile} slowest={slowest} />
      ))}
    </>
  )
}
