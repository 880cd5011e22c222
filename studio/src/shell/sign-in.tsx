/** Sign-in: asks for the token that the server wants. */

import { useState } from 'preact/hooks'
import { Failure } from '../look/parts.tsx'

export function SignIn({ wasRefused, problem, enter }: { wasRefused: boolean; problem: unknown; enter: (token: string) => void }) {
  const [token, setToken] = useState('')
  return (
    <main class="sign-in">
      <form
        class="panel stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (token.trim()) enter(token.trim())
        }}
      >
        <h1>OmniGraph Studio</h1>
        {problem === null ? null : <Failure error={problem} />}
        {wasRefused && problem === null ? <p class="removed">The server does not know this token.</p> : null}
        <label>
          <span>Token</span>
          <input type="password" autofocus autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <p class="soft small">Whoever runs the server gives tokens out. Yours stays in this tab and is forgotten when you close it.</p>
        <button class="main" disabled={!token.trim()}>
          Enter
        </button>
      </form>
    </main>
  )
}
