/** Plan: the operators of a query as a tree of lines that people read. */

import { writeJson } from '../../api/json.ts'
import type { Explanation, Profile } from '../../api/shapes.ts'

export interface PlanLine {
  title: string
  about: string
  /** Rows that are expected, and that there were. */
  expected: number | null
  rows: number | null
  millis: number | null
  bytes: number | null
  inner: PlanLine[]
}

type Tree = Record<string, unknown>

const isTree = (value: unknown): value is Tree => value !== null && typeof value === 'object' && !Array.isArray(value)
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const join = (value: unknown, glue = ', '): string => listOf(value).map(expression).join(glue)

/** Return an expression of a plan as it would be written in a query. */
export function expression(value: unknown): string {
  if (!isTree(value)) return typeof value === 'string' ? value : writeJson(value)
  const sub = (name: string): string => expression(value[name])
  switch (value['op']) {
    case 'PropertyRef':
      return `$${String(value['variable'])}.${String(value['property'])}`
    case 'VariableRef':
      return `$${String(value['variable'])}`
    case 'ColumnRef':
      return String(value['column'])
    case 'ParamRef':
      return `$${String(value['name'])}`
    case 'Constant':
      return writeJson(value['value'])
    case 'Comparison':
      return `${sub('left')} ${String(value['operator'])} ${sub('right')}`
    case 'NullTest':
      return `${sub('operand')} is ${value['negated'] ? 'not ' : ''}null`
    case 'Not':
      return `not ${sub('operand')}`
    case 'Aggregate':
      return `${String(value['function'])}(${value['distinct'] ? 'distinct ' : ''}${value['argument'] === null ? '*' : sub('argument')})`
    case 'Call':
      return `${String(value['function'])}(${join(value['arguments'])})`
    case 'Column': {
      const written = sub('expr')
      return written === value['name'] ? written : `${written} as ${String(value['name'])}`
    }
    case 'OrderKey':
      return `${sub('expr')} ${value['descending'] ? 'desc' : 'asc'}`
    default:
      return plainTree(value)
  }
}

function plainTree(tree: Tree): string {
  const parts = Object.entries(tree).filter(([name, value]) => name !== 'op' && name !== 'type' && value !== null && value !== false && listOf(value).length + (Array.isArray(value) ? 0 : 1) > 0)
  return `${String(tree['op'] ?? '')}(${parts.map(([name, value]) => `${name} ${Array.isArray(value) ? join(value) : expression(value)}`).join(', ')})`
}

function expansion(operator: Tree): string {
  const steps = listOf(operator['steps']).filter(isTree)
  const names = steps.map((step) => String(step['edge'])).join(' or ')
  const direction = steps[0]?.['direction']
  const hops = isTree(operator['hops']) && !(operator['hops']['minimum'] === 1 && operator['hops']['maximum'] === 1) ? ` {${String(operator['hops']['minimum'])},${String(operator['hops']['maximum'] ?? '')}}` : ''
  const arrow = direction === 'in' ? `<-${names}${hops}-` : direction === 'both' ? `<-${names}${hops}->` : `-${names}${hops}->`
  return `$${String(operator['source'])} ${arrow} $${String(operator['target'])}: ${join(operator['types'], ' or ')}`
}

function about(operator: Tree): string {
  const filters = [...listOf(operator['filters']), ...listOf(operator['edge_filters'])].map(expression)
  const where = filters.length ? `  where ${filters.join(' and ')}` : ''
  const reads = listOf(operator['columns']).length ? `  reads ${join(operator['columns'])}` : ''
  switch (operator['op']) {
    case 'NodeScan': {
      const point = isTree(operator['point']) ? `  by key ${join(operator['point']['values'])}` : ''
      return `$${String(operator['variable'])}: ${join(operator['types'], ' or ')}${point}${where}${reads}`
    }
    case 'Expand':
      return `${expansion(operator)}${where}${reads}`
    case 'Filter':
      return expression(operator['predicate'])
    case 'Aggregate':
      return `${listOf(operator['keys']).length ? `by ${join(operator['keys'])}  ` : ''}${join(operator['aggregates'])}`
    case 'Order':
      return listOf(operator['keys']).length ? join(operator['keys']) : `ties by ${join(operator['ties'])}`
    case 'Limit':
      return `${operator['skip'] === null || operator['skip'] === undefined ? '' : `skip ${expression(operator['skip'])}  `}${operator['limit'] === null ? '' : expression(operator['limit'])}`
    case 'Project':
      return join(operator['columns'])
    case 'AntiJoin':
    case 'Optional':
      return `on ${listOf(operator['outer']).map((each) => `$${String(each)}`).join(', ')}`
    default:
      return plainTree({ ...operator, inner: null }).replace(/^\w+\((.*)\)$/s, '$1')
  }
}

function line(operator: unknown, expected: number | null): PlanLine {
  const tree = isTree(operator) ? operator : {}
  const inner = listOf(tree['inner']).map((each) => line(each, null))
  return { title: String(tree['op'] ?? 'Operator'), about: about(tree), expected, rows: null, millis: null, bytes: null, inner }
}

export function explainedLines(explanation: Explanation): PlanLine[] {
  return explanation.plan.operators.map((each, at) => line(each, explanation.expected_rows[at] ?? null))
}

/** Return the lines of a profile; operators that ran as one are one line. */
export function profiledLines(profile: Profile): PlanLine[] {
  return profile.operators.map((each) => {
    const parts = each.operators.map((text) => /^(\S+)\s*(.*)$/s.exec(text))
    return {
      title: parts.map((part) => part?.[1] ?? '').join(' + '),
      about: parts.map((part) => part?.[2] ?? '').join(' · '),
      expected: each.expected_rows,
      rows: each.rows,
      millis: each.ms,
      bytes: each.bytes_read,
      inner: [],
    }
  })
}
