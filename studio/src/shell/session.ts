/** Session: the token of the reader, in memory and in the storage of this tab, never in an address. */

import { Client } from '../api/client.ts'
import { codeOf } from './address.ts'

const KEY = 'omnigraph.token'

export class Session {
  private current: string | null

  private readonly storage: Storage | null

  constructor(storage: Storage | null) {
    this.storage = storage
    this.current = storage?.getItem(KEY) ?? null
  }

  get token(): string | null {
    return this.current
  }

  enter(token: string): void {
    this.current = token
    this.storage?.setItem(KEY, token)
  }

  leave(): void {
    this.current = null
    this.storage?.removeItem(KEY)
  }
}

/** Exchange the one-time code of the address for a token, once; the code leaves the address first. */
export async function redeem(session: Session, client: Client): Promise<void> {
  const code = codeOf(location.hash)
  if (code === null) return
  history.replaceState(null, '', location.pathname)
  const answer = await client.post<{ token: string }>('/studio/session', { code })
  session.enter(answer.token)
}
