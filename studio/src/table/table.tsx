/** Table: rows that scroll, however many there are; only those in sight are drawn. */

import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount } from '../look/format.ts'
import { moveCell, placeRows, scrollTo, type Cell } from './rows.ts'
import './table.css'

const ROW = 28
const SPARE = 8

export interface TableColumn {
  name: string
  about?: string
  width: number
  isNumber?: boolean
}

interface Props {
  label: string
  columns: readonly TableColumn[]
  count: number
  /** The text of a cell; null is shown as such. */
  text: (row: number, column: number) => string | null
  selected: Cell | null
  select: (cell: Cell) => void
}

export function VirtualTable({ label, columns, count, text, selected, select }: Props) {
  const element = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return
    const observer = new ResizeObserver(() => setHeight(box.clientHeight))
    observer.observe(box)
    setHeight(box.clientHeight)
    return () => observer.disconnect()
  }, [])
  const shown = placeRows({ count, row: ROW, height, top, spare: SPARE })
  useEffect(() => {
    const box = element.current
    if (box === null || selected === null) return
    const from = shown.topOf(selected.row)
    if (from < box.scrollTop) box.scrollTop = from
    else if (from + ROW * 2 > box.scrollTop + box.clientHeight) box.scrollTop = from + ROW * 2 - box.clientHeight
  }, [selected?.row])
  useEffect(() => {
    const box = element.current
    if (box === null || selected === null) return
    box.scrollLeft = scrollTo({ widths: columns.map((each) => each.width), column: selected.column, left: box.scrollLeft, width: box.clientWidth })
  }, [selected?.column])
  const press = (event: KeyboardEvent): void => {
    const next = moveCell(selected ?? { row: -1, column: 0 }, event.key, { rows: count, columns: columns.length, page: Math.max(1, Math.floor(height / ROW) - 2), isFar: event.ctrlKey || event.metaKey })
    if (next === null) return
    event.preventDefault()
    select(next)
  }
  const width = columns.reduce((sum, each) => sum + each.width, 0)
  const name = useId()
  const id = (row: number, column: number): string => `${name}-${row}-${column}`
  return (
    <>
    <div
      class="virtual"
      ref={element}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={selected === null ? undefined : id(selected.row, selected.column)}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={press}
    >
      <div class="head line" role="row" aria-rowindex={1} style={{ width: `${width}px` }}>
        {columns.map((each) => (
          <div key={each.name} role="columnheader" class={each.isNumber ? 'number' : ''} title={each.about ?? each.name} style={{ width: `${each.width}px` }}>
            {each.name} {each.about ? <span class="kind">{each.about}</span> : null}
          </div>
        ))}
      </div>
      <div role="rowgroup" class="body" style={{ height: `${shown.total}px`, width: `${width}px` }}>
        {Array.from({ length: shown.end - shown.begin }, (_, at) => {
          const row = shown.begin + at
          return (
            <div key={row} class={row === selected?.row ? 'line chosen' : 'line'} role="row" aria-rowindex={row + 2} style={{ transform: `translateY(${shown.topOf(row)}px)` }}>
              {columns.map((each, column) => {
                const found = text(row, column)
                const isChosen = row === selected?.row && column === selected.column
                return (
                  <div
                    key={each.name}
                    id={id(row, column)}
                    role="gridcell"
                    aria-selected={isChosen}
                    class={`${each.isNumber ? 'number' : ''}${found === null ? ' none' : ''}`}
                    style={{ width: `${each.width}px` }}
                    onClick={() => select({ row, column })}
                  >
                    {found ?? 'null'}
                  </div>
                )
              })}
            </div>
          )
        })}
      </div>
    </div>
    <span class="hidden" role="status">
      {selected === null ? '' : `row ${formatCount(selected.row + 1)} of ${formatCount(count)}`}
    </span>
    </>
  )
}
