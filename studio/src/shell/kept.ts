/** Kept: what a person typed or chose, as long as the page is open, also while another room or the sign-in is shown. */

import { useCallback, useState } from 'preact/hooks'
import { useStudio } from './studio.tsx'

const all = new Map<string, unknown>()

/** Return a state that is still there when its part of the page comes back for the same actor, and how to set it. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const { address, config } = useStudio()
  const key = JSON.stringify([config?.actor_id ?? null, address.graph, name])
  const [value, setValue] = useState<T>(() => (all.has(key) ? (all.get(key) as T) : initial))
  const keep = useCallback(
    (next: T) => {
      if (next === initial) all.delete(key)
      else all.set(key, next)
      setValue(next)
    },
    [key, initial],
  )
  return [value, keep]
}
