/** Shapes: the documents that the server sends and takes, by the names that they have there. */

export type Row = Record<string, unknown>

export type Op = 'insert' | 'update' | 'delete'

export interface Commit {
  graph_commit_id: string
  manifest_branch: string
  manifest_version: number
  parent_commit_id: string | null
  merged_parent_commit_id: string | null
  actor_id: string | null
  /** Microseconds since 1970. */
  created_at: number
  kind: string
  message: string | null
  operation_id: string
}

export interface TableState {
  table_key: string
  row_count: number
}

export interface Snapshot {
  branch: string
  manifest_version: number
  commit: string
  tables: TableState[]
  commits: Record<string, Commit>
}

export interface Property {
  name: string
  type: string
  nullable: boolean
  description: string | null
}

export interface NodeType {
  name: string
  implements: string[]
  properties: Property[]
  key: string[]
  description: string | null
}

export interface EdgeType {
  name: string
  source: string
  target: string
  properties: Property[]
  description: string | null
}

export interface Schema {
  source: string
  hash: string
  interfaces: NodeType[]
  nodes: NodeType[]
  edges: EdgeType[]
}

export interface Config {
  product: string
  version: string
  graph: string | null
  graphs: { id: string; path: string; in_service: boolean }[] | null
  branch: string
  actor_id: string | null
  /** Actions that the actor may do on the branch. */
  may: string[]
}

export interface BranchStatus {
  name: string
  head: string
  /** Null when the actor may not read main. */
  ahead: number | null
  behind: number | null
  actor_id: string | null
  created_at: number
  message: string | null
  review: ReviewState | null
}

export interface Tag {
  name: string
  commit: string
}

export interface IndexCoverage {
  table_key: string
  column: string
  kind: string
  rows_indexed: number
  rows_pending: number
  reason: string | null
}

export interface Problem {
  severity: 'error' | 'warning'
  code: string
  message: string
  hint: string | null
  line: number
  column: number
  /** Code points from the beginning of the text. */
  start: number
  end: number
}

export interface QueryParameter {
  name: string
  type: string
  required: boolean
}

export interface QueryColumn {
  name: string
  type: string
}

export interface QuerySummary {
  name: string
  kind: 'read' | 'change'
  parameters: QueryParameter[]
  columns: QueryColumn[]
}

export interface Lint {
  problems: Problem[]
  queries: QuerySummary[]
}

export interface CompletionItem {
  label: string
  kind: string
  detail: string | null
  insert: string
}

export interface Completions {
  start: number
  items: CompletionItem[]
}

export interface Rows {
  query_name: string
  graph_commit_id: string | null
  row_count: number
  columns: string[]
  rows: Row[]
}

export interface ProfiledOperator {
  operators: string[]
  rows: number
  ms: number
  bytes_read: number
  expected_rows: number | null
}

export interface Profile {
  query_name: string
  road: string
  row_count: number
  operators: ProfiledOperator[]
}

export interface Explanation {
  query_name: string
  plan: { operators: Record<string, unknown>[]; columns: QueryColumn[] }
  expected_rows: number[]
  orders: unknown[]
  road: Record<string, unknown> | null
}

export interface Receipt {
  query_name: string
  branch: string
  affected_nodes: number | null
  affected_edges: number | null
  inserted: number | null
  updated: number | null
  unchanged: number | null
  deleted: number | null
  commit: string | null
}

export interface StoredQuery {
  name: string
  kind: 'read' | 'change'
  description: string | null
  instruction: string | null
  params: { properties?: Record<string, Record<string, unknown>>; required?: string[] }
  columns: QueryColumn[]
  problem: string | null
}

export interface Change {
  table_key: string
  kind: 'node' | 'edge'
  type_name: string
  id: string
  op: Op
  before?: Row
  after?: Row
  changed?: string[]
  endpoints?: Record<string, string>
}

export type Stats = Record<string, Record<Op, number>>

export interface SchemaStep {
  [name: string]: unknown
}

export interface CommitChanges {
  commit: Commit
  stats: Stats
  schema_steps: SchemaStep[]
  changes: Change[]
}

export interface Feed {
  branch: string
  commits: CommitChanges[]
  cursor: string | null
  more: boolean
}

export interface Diff {
  from_commit: string
  to_commit: string
  stats: Stats
  schema_steps: SchemaStep[]
  changes: Change[]
}

export interface Merged {
  source: string
  target: string
  outcome: 'already_up_to_date' | 'fast_forward' | 'merged' | 'conflicts'
  commit: string | null
  base_commit: string
  stats: Stats
  merge_conflicts: Conflict[]
  ours_commit: string | null
  theirs_commit: string
}

export interface Reverted {
  branch: string
  reverted: string
  commit: string | null
  merge: Merged
}

export interface Conflict {
  kind: string
  table_key: string
  type_name: string
  row_id: string | null
  property: string | null
  message: string
  base: unknown
  ours: unknown
  theirs: unknown
  ours_actor: string | null
  theirs_actor: string | null
}

export type ReviewState = 'open' | 'changes_asked' | 'approved' | 'merged'

export interface ReviewEvent {
  id: string
  /** Microseconds since 1970. */
  at: number
  actor_id: string | null
  kind: 'state' | 'comment'
  state: ReviewState | null
  message: string | null
  /** The commit that it was said about. */
  head: string
  entity: { type: string; id: string | null; property: string | null } | null
}

export interface Review {
  branch: string
  into: string | null
  state: ReviewState
  head: string
  events: ReviewEvent[]
}

export interface FoundReview {
  branch: string
  review: Review | null
}

export interface Hit {
  type: string
  id: string
  label: string
  score: number
  matched: { property: string; excerpt: string }
}

export interface Hits {
  hits: Hit[]
  notes: string[]
}

export type Direction = 'out' | 'in'

export interface EdgeGroup {
  edge: string
  direction: Direction
  /** The type of the other ends. */
  type: string
  count: number
}

export interface Neighbor {
  edge_id: string
  edge: Row
  type: string
  id: string
  label: string
  node: Row
}

export interface Neighbors {
  node: { type: string; id: string; label: string; properties: Row }
  groups: EdgeGroup[]
  neighbors: Neighbor[]
  cursor: string | null
}

export interface Blamed {
  property: string
  value: unknown
  commit: string
  actor_id: string | null
  /** Microseconds since 1970. */
  created_at: number
  message: string | null
  or_earlier: boolean
}
