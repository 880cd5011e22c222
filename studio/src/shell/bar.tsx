/** Bar: the rooms, the branch and commit that is looked at, the actor, and the theme. */

import { useState } from 'preact/hooks'
import { Id } from '../look/parts.tsx'
import { ENTRIES } from './rooms.ts'
import { useStudio } from './studio.tsx'
import { currentTheme, nextTheme } from './theme.ts'

const THEMES = { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' } as const
const MARKS = { system: '◐', light: '☀', dark: '☾' } as const

export function Bar({ hasToken, leave, pick, help }: { hasToken: boolean; leave: () => void; pick: () => void; help: () => void }) {
  const { address, config, go, href } = useStudio()
  const [theme, setTheme] = useState(currentTheme)
  return (
    <header class="bar">
      <a class="name" href={href({ room: 'overview' })}>
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
          <path d="M9 22 16 9l7 13z" fill="none" stroke="currentColor" stroke-width="2" />
          <circle cx="16" cy="9" r="4" fill="currentColor" />
          <circle cx="9" cy="22" r="4" fill="currentColor" />
          <circle cx="23" cy="22" r="4" fill="currentColor" />
        </svg>
        <span>{address.graph ?? config?.graph ?? 'OmniGraph'}</span>
      </a>
      <nav aria-label="Rooms">
        {ENTRIES.map((each) => (
          <a key={each.room} href={href({ room: each.room })} aria-current={each.room === address.room ? 'page' : undefined} title={`g ${each.key}`}>
            {each.title}
          </a>
        ))}
      </nav>
      <div class="where">
        <button type="button" onClick={pick} aria-haspopup="dialog" title="Choose a branch (b)">
          <span aria-hidden="true">⎇</span>
          <span class="branch">{address.branch}</span>
        </button>
        {address.commit === null ? null : (
          <span class="badge changed">
            at <Id id={address.commit} />
            <button type="button" class="quiet tiny" aria-label="Back to the newest commit" onClick={() => go({ commit: null })}>
              ✕
            </button>
          </span>
        )}
      </div>
      <div class="who">
        {config?.actor_id ? <span class="soft small actor" title="You are this actor">{config.actor_id}</span> : null}
        <button type="button" class="quiet" aria-label={THEMES[theme]} title={THEMES[theme]} onClick={() => setTheme(nextTheme())}>
          {MARKS[theme]}
        </button>
        <button type="button" class="quiet help" aria-label="Keys" title="Keys (?)" onClick={help}>
          ?
        </button>
        {hasToken ? (
          <button type="button" class="quiet small" onClick={leave}>
            Sign out
          </button>
        ) : null}
      </div>
    </header>
  )
}
