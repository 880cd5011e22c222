/** Events: server-sent events, read from the text of an answer while it comes. */

export interface ServerEvent {
  readonly name: string
  readonly id: string | null
  readonly data: string
}

export async function* readEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerEvent, void, undefined> {
  let text = ''
  for await (const piece of pieces) {
    const blocks = (text + piece).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = parseEvent(block)
      if (event !== null) yield event
    }
  }
}

/** Return the event that lines make; null for a comment, which only keeps the connection. */
export function parseEvent(block: string): ServerEvent | null {
  let name = 'message'
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [field, value] = partsOf(line)
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return data.length === 0 && id === null ? null : { name, id, data: data.join('\n') }
}

function partsOf(line: string): [field: string, value: string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
