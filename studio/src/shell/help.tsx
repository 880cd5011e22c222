/** Help: the keys, in a dialog. */

import { Dialog } from '../look/parts.tsx'
import { ENTRIES } from './rooms.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['b', 'choose a graph, branch or commit'],
  ['/', 'go to the field of the room'],
  ['r', 'ask for everything again'],
  ['?', 'these keys'],
  ['Ctrl Enter', 'run the query'],
  ['Esc', 'close what is open'],
  ['Esc Tab', 'leave the editor of queries, in which Tab indents'],
]

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table>
        <tbody>
          {ENTRIES.map((each) => (
            <tr key={each.room}>
              <td>
                <kbd>g</kbd> <kbd>{each.key}</kbd>
              </td>
              <td>{each.title}</td>
            </tr>
          ))}
          {KEYS.map(([key, what]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  )
}
