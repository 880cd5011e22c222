/** Events: server-sent events, read from an answer that was asked for with a token, which EventSource cannot send. */

import { chunks } from './client.ts'

export interface ServerEvent {
  name: string
  id: string | null
  data: string
}

/** Take the lines of an event apart; comments, which only keep the connection, are no event. */
export function parseEvent(block: string): ServerEvent | null {
  let name = 'message'
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith(':') || line === '') continue
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return data.length === 0 && id === null ? null : { name, id, data: data.join('\n') }
}

/** Return the whole events of a text, and what is left of it. */
export function splitEvents(text: string): { events: ServerEvent[]; rest: string } {
  const blocks = text.replace(/\r\n?/g, '\n').split('\n\n')
  const rest = blocks.pop() ?? ''
  return { events: blocks.map(parseEvent).filter((each) => each !== null), rest }
}

export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of chunks(response)) {
    const split = splitEvents(text + decoder.decode(part, { stream: true }))
    text = split.rest
    yield* split.events
  }
}
