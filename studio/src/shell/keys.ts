/** Keys: what single keys do while nobody is typing. */

/** Whether a key press belongs to a field that is being typed into. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}

export interface Bindings {
  /** What follows `g`. */
  rooms: Readonly<Record<string, () => void>>
  single: Readonly<Record<string, () => void>>
}

/** Listen to keys until the returned function is called. */
export function listen(bindings: () => Bindings): () => void {
  let isGoing = false
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
    // What is behind a dialog stays as it is until the dialog is closed.
    if (document.querySelector('dialog[open]') !== null) return
    const { rooms, single } = bindings()
    const action = isGoing ? rooms[event.key] : single[event.key]
    isGoing = !isGoing && event.key === 'g'
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}
