/** Picker: choose a graph, a branch, or a commit or tag, by typing a part of its name. */

import { useState } from 'preact/hooks'
import type { Tag } from '../api/shapes.ts'
import { Dialog, Failure, Id, Loading } from '../look/parts.tsx'
import { useAsked, useStudio } from './studio.tsx'

const MOST = 200

export function PlacePicker({ onClose }: { onClose: () => void }) {
  const { address, config, go } = useStudio()
  const [text, setText] = useState('')
  const branches = useAsked('branches', (client, signal) => client.get<{ branches: string[] }>('/branches', { limit: 10_000 }, { signal }))
  const tags = useAsked('tags', (client, signal) => client.get<{ tags: Tag[] }>('/tags', { limit: 10_000 }, { signal }))
  const fits = (name: string): boolean => name.toLowerCase().includes(text.toLowerCase())
  const found = branches.value?.branches.filter(fits) ?? []
  const named = tags.value?.tags.filter((each) => fits(each.name)) ?? []
  const graphs = config?.graphs?.map((each) => each.id).filter(fits) ?? []
  const choose = (move: Parameters<typeof go>[0]): void => {
    go(move)
    onClose()
  }
  return (
    <Dialog title="Where to look" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const first = found[0]
          if (first !== undefined) choose({ branch: first, commit: null })
        }}
      >
        <label>
          <span class="small soft">A part of its name; Enter takes the first branch</span>
          <input autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} autocomplete="off" />
        </label>
      </form>
      {branches.error === null ? null : <Failure error={branches.error} retry={branches.retry} />}
      {branches.isLoading && branches.value === null ? <Loading what="branches" lines={3} /> : null}
      {graphs.length ? (
        <section class="choices" aria-label="Graphs">
          <h3 class="soft small">Graphs</h3>
          {graphs.map((name) => (
            <button key={name} type="button" aria-current={name === address.graph} onClick={() => choose({ graph: name })}>
              {name}
            </button>
          ))}
        </section>
      ) : null}
      <section class="choices" aria-label="Branches">
        <h3 class="soft small">Branches</h3>
        {found.slice(0, MOST).map((name) => (
          <button key={name} type="button" aria-current={name === address.branch && address.commit === null} onClick={() => choose({ branch: name, commit: null })}>
            {name}
          </button>
        ))}
        {found.length > MOST ? <p class="soft small">and {found.length - MOST} more</p> : null}
        {branches.value !== null && found.length === 0 ? <p class="soft small">no branch has this name</p> : null}
      </section>
      {named.length ? (
        <section class="choices" aria-label="Tags">
          <h3 class="soft small">Tags</h3>
          {named.slice(0, MOST).map((each) => (
            <button key={each.name} type="button" aria-current={each.commit === address.commit} onClick={() => choose({ commit: each.commit })}>
              {each.name} <Id id={each.commit} />
            </button>
          ))}
        </section>
      ) : null}
    </Dialog>
  )
}
