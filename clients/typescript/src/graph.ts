/** Graph: handles on a served graph: the graph itself, a view of it to read, a branch to change. */

import type { Columns, RowOf } from './columns.ts'
import { decode } from './columns.ts'
import { InputError, OmniGraphError } from './errors.ts'
import type {
  ApplyBody,
  Blamed,
  BranchStatus,
  ChangesFields,
  Commit,
  CommitChanges,
  Diagnosis,
  Diff,
  DiffBody,
  ExportBody,
  Hits,
  IngestFields,
  Ingested,
  InvokeBody,
  LoadFields,
  Loaded,
  MergeBody,
  Merged,
  Neighbors,
  NeighborsFields,
  Query,
  ReadBody,
  Receipt,
  RevertBody,
  Reverted,
  Review,
  ReviewBody,
  ReviewFields,
  ReviewPage,
  Rights,
  Rows,
  Schema,
  SchemaApplied,
  SchemaPlan,
  Snapshot,
} from './generated/api.ts'
import { Api } from './generated/api.ts'
import type { Sent, Value } from './json.ts'
import { parseJson } from './json.ts'
import type { CallOptions, ConnectOptions, ExportedRow, Lines, WriteOptions } from './requests.ts'
import { ReadOptions, Requests, sleep } from './requests.ts'

/** Parameters of a query, by name. */
export type Params = { readonly [name: string]: Sent }

/** A row of an answer whose columns were not declared. */
export type Row = { [name: string]: Value }

/** The rows of a query, and the commit that was read. */
export interface Answer<R> {
  rows: R[]
  columns: string[]
  commit: string | null
}

/** Which query of a text is run, with what, and what its columns are. */
export interface QueryOptions<C extends Columns | undefined = undefined> extends CallOptions {
  readonly name?: string | undefined
  readonly params?: Params | undefined
  /** The types of columns, by name: rows are checked, and I64 and U64 become bigints. */
  readonly columns?: C
}

/** The changes of a commit, and the cursor behind it. */
export interface WatchedCommit extends CommitChanges {
  cursor: string
}

type Place = { readonly branch: string } | { readonly snapshot: string }
type Rowed<C extends Columns | undefined> = C extends Columns ? RowOf<C> : Row
type Without<Fields, Names extends string> = Omit<Fields, Names>

const SECONDS_TO_RECONNECT = 1
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/**
 * Return the graph that a server has at an address.
 *
 * Nothing is sent until something is asked for. The address of a graph of a deployment ends with
 * `/graphs/NAME`.
 */
export function connect(url: string, options: ConnectOptions = {}): Graph {
  return new Graph(new Requests(url, options))
}

/** A served graph. What there is no method for is among the operations of `api`. */
export class Graph {
  readonly url: string
  readonly api: Api

  constructor(requests: Requests) {
    this.url = requests.url
    this.api = new Api(requests)
  }

  /** Return a branch, which is not asked for until it is used. */
  branch(name = 'main'): Branch {
    return new Branch(this.api, name)
  }

  /** Return a view of a commit, which never changes, or of a tag or a branch. */
  at(place: string): View {
    return new View(this.api, placeOf(place))
  }

  /** Return the names of all branches, `main` first. */
  async branches(options: CallOptions = {}): Promise<string[]> {
    return await all(pages((after) => this.api.branches({ after }, options), (page) => page.branches))
  }

  /** Return where all branches stand, and how far from `main`. */
  async branchStatus(options: CallOptions = {}): Promise<BranchStatus[]> {
    return await all(pages((cursor) => this.api.branchStatus({ cursor }, options), (page) => page.branches))
  }

  /** Make a branch where another branch or a commit stands; `main` unless told. */
  async createBranch(name: string, options: WriteOptions & { readonly from?: string | undefined } = {}): Promise<Branch> {
    const { from, ...how } = options
    await this.api.createBranch({ name, from }, how)
    return this.branch(name)
  }

  /** Remove a branch; with `expect`, only where it stands at this commit. */
  async deleteBranch(name: string, options: WriteOptions & { readonly expect?: string | undefined } = {}): Promise<void> {
    const { expect, ...how } = options
    await this.api.deleteBranch({ branch: name, expect }, how)
  }

  async renameBranch(name: string, newName: string, options: WriteOptions = {}): Promise<Branch> {
    await this.api.renameBranch({ name, new_name: newName }, options)
    return this.branch(newName)
  }

  /** Return the commit that each tag names. */
  async tags(options: CallOptions = {}): Promise<Map<string, string>> {
    const found = await all(pages((after) => this.api.tags({ after }, options), (page) => page.tags))
    return new Map(found.map((each) => [each.name, each.commit]))
  }

  /** Name a commit, or where a branch stands; return the commit. */
  async createTag(name: string, target = 'main', options: WriteOptions = {}): Promise<string> {
    return (await this.api.createTag({ name, target }, options)).commit
  }

  async deleteTag(name: string, options: WriteOptions = {}): Promise<void> {
    await this.api.deleteTag({ tag: name }, options)
  }

  commit(id: string, options: CallOptions = {}): Promise<Commit> {
    return this.api.commit({ commit_id: id }, options)
  }

  /** Return who asks, and what the policy lets them do. */
  rights(options: CallOptions = {}): Promise<Rights> {
    return this.api.rights(options)
  }
}

/** A branch or commit to read. */
export class View {
  protected readonly api: Api
  readonly place: Place

  constructor(api: Api, place: Place) {
    this.api = api
    this.place = place
  }

  /** Return the rows of a query; a text of several queries needs the `name` of one. */
  async query<const C extends Columns | undefined = undefined>(source: string, options: QueryOptions<C> = {}): Promise<Answer<Rowed<C>>> {
    const { name, params, columns, signal } = options
    const found = await this.api.read({ ...this.place, query_source: source, query_name: name, params }, { signal })
    return answer(found, columns) as Answer<Rowed<C>>
  }

  /** Return how a query would be run. */
  explain(source: string, options: CallOptions & Pick<QueryOptions, 'name' | 'params'> & { readonly mode?: Exclude<ReadBody['mode'], 'rows'> } = {}): Promise<Rows> {
    const { name, params, mode, signal } = options
    return this.api.read({ ...this.place, query_source: source, query_name: name, params, mode: mode ?? 'explain' }, { signal })
  }

  /** Return the problems of a text of queries, and what each takes and returns. */
  lint(source: string, options: CallOptions = {}): Promise<Diagnosis> {
    return this.api.lint({ ...this.place, query_source: source }, options)
  }

  /** Return the stored queries that the actor may run. */
  async queries(options: CallOptions = {}): Promise<Query[]> {
    return (await this.api.queries(this.place, options)).queries
  }

  /** Return a stored query, ready to run here; raises NotFoundError when the actor may not run it. */
  async stored(name: string, options: CallOptions = {}): Promise<StoredQuery> {
    return new StoredQuery(this.api, this.place, await this.api.query({ ...this.place, name }, options))
  }

  /** Return the nodes that a text may mean, best first. */
  search(text: string, options: CallOptions & { readonly type?: readonly string[]; readonly limit?: number } = {}): Promise<Hits> {
    const { signal, ...fields } = options
    return this.api.search({ ...this.place, ...fields, text }, { signal })
  }

  /** Return how many edges of each type a node has; with `edge`, a page of them. */
  neighbors(type: string, id: string, options: CallOptions & Without<NeighborsFields, 'type' | 'id' | 'branch' | 'snapshot'> = {}): Promise<Neighbors> {
    const { signal, ...fields } = options
    return this.api.neighbors({ ...this.place, ...fields, type, id }, { signal })
  }

  /** Return the bytes of a Blob property. */
  blob(type: string, id: string, property: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.api.blob({ ...this.place, type, id, property }, options)
  }

  schema(options: CallOptions = {}): Promise<Schema> {
    return this.api.schema(this.place, options)
  }

  /** Return the commit and its tables. */
  snapshot(options: CallOptions = {}): Promise<Snapshot> {
    return this.api.snapshot(this.place, options)
  }

  /** Yield the rows of all types, or of those that are named, while they are read. */
  export(options: CallOptions & Without<ExportBody, 'branch' | 'snapshot'> = {}): AsyncGenerator<ExportedRow, void, undefined> {
    const { signal, ...fields } = options
    return this.api.export({ ...this.place, ...fields }, { signal })
  }

  /** Return the net changes from here to another branch or commit. */
  diff(to: string, options: CallOptions & Without<DiffBody, 'from' | 'to'> = {}): Promise<Diff> {
    const { signal, ...fields } = options
    return this.api.diff({ ...fields, from: nameOf(this.place), to }, { signal })
  }
}

/** A branch: what a view can do, and changes. */
export class Branch extends View {
  readonly name: string

  constructor(api: Api, name: string) {
    super(api, { branch: name })
    this.name = name
  }

  /** Run a mutation as one commit; with `expect` only when the branch stands there. */
  mutate(source: string, options: WriteOptions & { readonly name?: string; readonly params?: Params; readonly message?: string; readonly expect?: string } = {}): Promise<Receipt> {
    const { name, params, message, expect, ...how } = options
    return this.api.change({ branch: this.name, query_source: source, query_name: name, params, message, expect }, how)
  }

  /** Load rows as one commit; a stream of rows is sent while it is made. */
  load(rows: Lines, options: WriteOptions & Without<LoadFields, 'branch'> = {}): Promise<Loaded> {
    const { signal, key, ...fields } = options
    return this.api.load(rows, { ...fields, branch: this.name }, { signal, key })
  }

  /** Load rows, and make the branch with them when it is not there. */
  ingest(rows: Lines, options: WriteOptions & Without<IngestFields, 'branch'> = {}): Promise<Ingested> {
    const { signal, key, ...fields } = options
    return this.api.ingest(rows, { ...fields, branch: this.name }, { signal, key })
  }

  /** Merge a branch or commit into this branch; raises MergeConflictsError, and then nothing changed. */
  merge(source: string | Branch, options: WriteOptions & Without<MergeBody, 'source' | 'target' | 'preview'> = {}): Promise<Merged> {
    const { signal, key, ...fields } = options
    return this.api.merge({ ...fields, source: named(source), target: this.name }, { signal, key })
  }

  /** Return what a merge would do, with its conflicts. */
  previewMerge(source: string | Branch, options: CallOptions & Without<MergeBody, 'source' | 'target' | 'preview'> = {}): Promise<Merged> {
    const { signal, ...fields } = options
    return this.api.merge({ ...fields, source: named(source), target: this.name, preview: true }, { signal })
  }

  /** Return a page of what this branch would bring to another, and what was said about it. */
  review(options: CallOptions & Without<ReviewFields, 'branch'> = {}): Promise<ReviewPage> {
    const { signal, ...fields } = options
    return this.api.review({ ...fields, branch: this.name }, { signal })
  }

  /** Open the review of this branch, approve it, or ask for changes. */
  setReview(state: ReviewBody['state'], options: WriteOptions & Without<ReviewBody, 'branch' | 'state'> = {}): Promise<Review> {
    const { signal, key, ...fields } = options
    return this.api.setReview({ ...fields, branch: this.name, state }, { signal, key })
  }

  /** Comment on this branch, or on a type, a row or a property of it. */
  comment(message: string, options: WriteOptions & { readonly type?: string; readonly id?: string; readonly property?: string; readonly into?: string; readonly expect?: string } = {}): Promise<Review> {
    const { signal, key, ...fields } = options
    return this.api.commentReview({ ...fields, branch: this.name, message }, { signal, key })
  }

  /** Undo a commit by a new one. */
  revert(commit: string, options: WriteOptions & Without<RevertBody, 'branch' | 'commit'> = {}): Promise<Reverted> {
    const { signal, key, ...fields } = options
    return this.api.revert({ ...fields, branch: this.name, commit }, { signal, key })
  }

  /** Return what a schema would change. */
  planSchema(source: string, options: CallOptions = {}): Promise<SchemaPlan> {
    return this.api.planSchema({ branch: this.name, schema_source: source }, options)
  }

  /** Apply a schema as one commit. */
  applySchema(source: string, options: WriteOptions & Without<ApplyBody, 'branch' | 'schema_source'> = {}): Promise<SchemaApplied> {
    const { signal, key, ...fields } = options
    return this.api.applySchema({ ...fields, branch: this.name, schema_source: source }, { signal, key })
  }

  /** Return which commit gave each property of a node or edge its value. */
  async blame(type: string, id: string, options: CallOptions = {}): Promise<Blamed[]> {
    return (await this.api.blame({ branch: this.name, type, id }, options)).blame
  }

  /** Yield the commits of the branch, newest first. */
  log(options: CallOptions = {}): AsyncGenerator<Commit, void, undefined> {
    return pages((after) => this.api.commits({ branch: this.name, after }, options), (page) => page.commits)
  }

  /** Yield what the commits behind a cursor changed, oldest first, and end with the newest. */
  async *changes(options: CallOptions & Without<ChangesFields, 'branch'> = {}): AsyncGenerator<WatchedCommit, void, undefined> {
    const { signal, ...fields } = options
    for (let since = fields.since; ; ) {
      const page = await this.api.changes({ ...fields, since, branch: this.name }, { signal })
      for (const each of page.commits) yield { ...each, cursor: each.commit.graph_commit_id }
      if (!page.more || page.cursor === null) return
      since = page.cursor
    }
  }

  /**
   * Yield what each commit changes as it comes, without an end.
   *
   * Without `since` it begins where the branch stands at the first look. When the connection ends it
   * is made again behind the last commit that was yielded, so that none is missed and none comes twice.
   * Ends when the loop is left; raises the reason of a signal that aborts it.
   */
  async *watch(options: CallOptions & Without<ChangesFields, 'branch' | 'limit'> = {}): AsyncGenerator<WatchedCommit, void, undefined> {
    const { signal, since, ...fields } = options
    const feed = new Feed(since ?? null)
    for (;;) {
      try {
        for await (const event of this.api.watch({ ...fields, since: feed.cursor ?? undefined, branch: this.name }, { signal })) {
          const commit = feed.take(event.name, event.id, event.data)
          if (commit !== null) yield commit
        }
      } catch (error) {
        signal?.throwIfAborted()
        if (!isPassing(error)) throw error
      }
      feed.dropParts()
      await sleep(SECONDS_TO_RECONNECT, signal)
    }
  }
}

/** A stored query on a branch or commit. */
export class StoredQuery {
  readonly about: Query
  readonly #api: Api
  readonly #place: Place

  constructor(api: Api, place: Place, about: Query) {
    this.#api = api
    this.#place = place
    this.about = about
  }

  /** Return the rows of a stored read; I64 and U64 are bigints, as the server says which columns are. */
  async query<const C extends Columns | undefined = undefined>(params: Params = {}, options: CallOptions & { readonly columns?: C } = {}): Promise<Answer<Rowed<C>>> {
    this.#check('read')
    const found = await this.#api.invokeQuery({ ...this.#place, name: this.about.name, params }, new ReadOptions(options.signal))
    return answer(found, options.columns ?? wideColumns(this.about)) as Answer<Rowed<C>>
  }

  /** Run a stored mutation as one commit of the branch. */
  async mutate(params: Params = {}, options: WriteOptions & Pick<InvokeBody, 'message' | 'expect'> = {}): Promise<Receipt> {
    this.#check('change')
    const { signal, key, ...fields } = options
    const found = await this.#api.invokeQuery({ ...this.#place, ...fields, name: this.about.name, params }, { signal, key })
    return found as Receipt
  }

  #check(kind: string): void {
    if (this.about.kind === kind) return
    const hint = kind === 'read' ? 'call `mutate` of it' : 'call `query` of it'
    throw new InputError(`the stored query '${this.about.name}' is a ${this.about.kind}`, 'bad_input', 'bad_request', { hint })
  }
}

/** What has come of a feed: the cursor behind the last whole commit, and parts of the next one. */
class Feed {
  cursor: string | null
  #parts: CommitChanges['changes'] = []

  constructor(cursor: string | null) {
    this.cursor = cursor
  }

  /** Return the commit that an event completes; null when it completes none. */
  take(name: string, id: string | null, data: string): WatchedCommit | null {
    if (id !== null) this.cursor = id
    if (name === 'changes') this.#parts.push(...(parseJson(data) as unknown as Pick<CommitChanges, 'changes'>).changes)
    if (name !== 'commit') return null
    const changes = this.#parts
    this.#parts = []
    return { ...(parseJson(data) as unknown as CommitChanges), changes, cursor: this.cursor ?? '' }
  }

  /** Forget the parts of a commit that did not come whole; it comes again. */
  dropParts(): void {
    this.#parts = []
  }
}

/** Whether a feed may go on after an error: the server did not answer, or ended. A page that is not of a server stays what it is. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof OmniGraphError)) return false
  return error.kind === 'unreachable' || error.status === 503 || error.status === 429 || (error.code === 'remote_failed' && error.status >= 500)
}

function answer(found: Partial<Rows>, columns: Columns | undefined): Answer<unknown> {
  const rows = found.rows ?? []
  return {
    rows: columns === undefined ? rows : rows.map((each) => decode(columns, each)),
    columns: found.columns ?? [],
    commit: found.graph_commit_id ?? null,
  }
}

/** Return the columns of a stored query that hold 64-bit integers. */
function wideColumns(about: Query): Columns {
  const wide = about.columns.filter((each) => /^\[?[IU]64\]?$/.test(each.type))
  return Object.fromEntries(wide.map((each) => [each.name, `${each.type}?`])) as Columns
}

async function* pages<Page extends { cursor: string | null }, Item>(ask: (after: string | undefined) => Promise<Page>, items: (page: Page) => Item[]): AsyncGenerator<Item, void, undefined> {
  for (let after: string | undefined; ; ) {
    const page = await ask(after)
    yield* items(page)
    if (page.cursor === null) return
    after = page.cursor
  }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const each of items) found.push(each)
  return found
}

function placeOf(place: string): Place {
  return ULID.test(place) ? { snapshot: place } : { branch: place }
}

function nameOf(place: Place): string {
  return 'branch' in place ? place.branch : place.snapshot
}

function named(source: string | Branch): string {
  return typeof source === 'string' ? source : source.name
}
