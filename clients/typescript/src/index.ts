/** A typed client for omnigraph-server; see docs/typescript.md. */

export * from './columns.ts'
export * from './errors.ts'
export { Api, VERSION } from './generated/api.ts'
export type * from './generated/api.ts'
export { Branch, connect, Graph, StoredQuery, View } from './graph.ts'
export type { Answer, Params, QueryOptions, Row, WatchedCommit } from './graph.ts'
export { parseJson, writeJson } from './json.ts'
export type { Sent, Value } from './json.ts'
export type { CallOptions, ConnectOptions, ExportedRow, Line, Lines, WriteOptions } from './requests.ts'
