/** App: the frame around the rooms: who is here, which graph, branch and commit, and where one can go. */

import type { ComponentType } from 'preact'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, Client } from '../api/client.ts'
import { parseSchema } from '../api/schema.ts'
import type { Config, Snapshot } from '../api/shapes.ts'
import { colourTypes } from '../look/colours.ts'
import { Failure, Loading } from '../look/parts.tsx'
import { formatAddress, moved, parseAddress, type Address, type Move } from './address.ts'
import { Bar } from './bar.tsx'
import { Help } from './help.tsx'
import { listen } from './keys.ts'
import { PlacePicker } from './picker.tsx'
import { ENTRIES, type RoomEntry } from './rooms.ts'
import { redeem, Session } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { placeFields, StudioContext, useAsking, useStudio, type Place, type Studio } from './studio.tsx'
import './shell.css'

const RETRY_MILLIS = 1500
const CLOCK_MILLIS = 30_000

type Door = 'opening' | 'open' | 'closed'

function useAddress(): [Address, (move: Move, how?: { replace?: boolean }) => void] {
  const [address, setAddress] = useState(() => parseAddress(location.hash))
  useEffect(() => {
    const follow = (): void => setAddress(parseAddress(location.hash))
    addEventListener('popstate', follow)
    addEventListener('hashchange', follow)
    return () => {
      removeEventListener('popstate', follow)
      removeEventListener('hashchange', follow)
    }
  }, [])
  const go = useCallback((move: Move, how: { replace?: boolean } = {}) => {
    const to = formatAddress(moved(parseAddress(location.hash), move))
    if (to === location.hash) return
    if (how.replace) history.replaceState(null, '', to)
    else history.pushState(null, '', to)
    setAddress(parseAddress(to))
  }, [])
  return [address, go]
}

function useClock(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MILLIS)
    return () => clearInterval(timer)
  }, [])
  return now
}

async function askPlace(client: Client, address: Address, signal: AbortSignal): Promise<Place> {
  const fields = placeFields(address)
  const [snapshot, schema] = await Promise.all([
    client.get<Snapshot>('/snapshot', fields, { signal }),
    client.get<Parameters<typeof parseSchema>[0]>('/schema', fields, { signal }),
  ])
  return { snapshot, schema: parseSchema(schema) }
}

function useRoom(entry: RoomEntry): { Room: ComponentType | null; error: unknown; retry: () => void } {
  const [loaded, setLoaded] = useState<{ room: string; Room: ComponentType | null; error: unknown }>({ room: '', Room: null, error: null })
  const [again, setAgain] = useState(0)
  useEffect(() => {
    let isCurrent = true
    entry.load().then(
      (module) => isCurrent && setLoaded({ room: entry.room, Room: module.default, error: null }),
      (error: unknown) => isCurrent && setLoaded({ room: entry.room, Room: null, error }),
    )
    return () => {
      isCurrent = false
    }
  }, [entry, again])
  const isCurrent = loaded.room === entry.room
  return { Room: isCurrent ? loaded.Room : null, error: isCurrent ? loaded.error : null, retry: () => setAgain(again + 1) }
}

function useClient(session: Session): { root: Client; isGone: boolean; door: Door; setDoor: (door: Door) => void; epoch: number; refresh: () => void } {
  const [isGone, setGone] = useState(false)
  const [door, setDoor] = useState<Door>('opening')
  const [epoch, setEpoch] = useState(0)
  const refresh = useCallback(() => setEpoch((count) => count + 1), [])
  const root = useMemo(
    () =>
      new Client(location.origin, () => session.token, {
        unauthorized: () => setDoor('closed'),
        unreachable: () => setGone(true),
        reached: () => setGone(false),
      }),
    [session],
  )
  useEffect(() => {
    if (!isGone) return
    const timer = setInterval(() => {
      fetch('/livez', { cache: 'no-store' }).then(
        (answer) => {
          if (!answer.ok) return
          setGone(false)
          refresh()
        },
        () => undefined,
      )
    }, RETRY_MILLIS)
    return () => clearInterval(timer)
  }, [isGone, refresh])
  return { root, isGone, door, setDoor, epoch, refresh }
}

function Doorway({ session, children }: { session: Session; children: (inside: ReturnType<typeof useClient>) => preact.ComponentChildren }) {
  const inside = useClient(session)
  const { root, door, setDoor, refresh } = inside
  const [problem, setProblem] = useState<unknown>(null)
  useEffect(() => {
    redeem(session, root).then(
      () => setDoor('open'),
      (error: unknown) => {
        setProblem(error)
        setDoor('closed')
      },
    )
  }, [session, root])
  if (door === 'opening') return <Loading what="the studio" />
  if (door === 'closed') {
    const enter = (token: string): void => {
      session.enter(token)
      setProblem(null)
      setDoor('open')
      refresh()
    }
    return <SignIn wasRefused={session.token !== null} problem={problem} enter={enter} />
  }
  return <>{children(inside)}</>
}

function Inside({ session, inside }: { session: Session; inside: ReturnType<typeof useClient> }) {
  const { root, isGone, setDoor, epoch, refresh } = inside
  const [address, go] = useAddress()
  const [shown, setShown] = useState<'help' | 'place' | null>(null)
  const now = useClock()
  const client = useMemo(() => root.of(address.graph), [root, address.graph])
  const where = `${address.graph ?? ''}\n${address.branch}\n${address.commit ?? ''}`
  // Rights are those of the branch, whichever of its commits is looked at; so the room stays where it is.
  const config = useAsking(`${address.graph ?? ''}\n${address.branch}`, epoch, (signal) => root.get<Config>('/studio/config.json', { graph: address.graph, branch: address.branch }, { signal }))
  const graphs = config.value?.graphs?.map((each) => each.id) ?? null
  const needsGraph = graphs !== null && address.graph === null
  const place = useAsking(config.value === null || needsGraph ? null : where, epoch, (signal) => askPlace(client, address, signal))
  const colours = useMemo(() => {
    const schema = place.value?.schema
    return colourTypes(schema?.nodes.map((each) => each.name) ?? [], schema?.edges.map((each) => each.name) ?? [])
  }, [place.value])
  useEffect(() => {
    if (needsGraph && graphs?.[0] !== undefined) go({ graph: graphs[0] }, { replace: true })
  }, [needsGraph, graphs])

  const graph = address.graph ?? config.value?.graph ?? null
  const entry = ENTRIES.find((each) => each.room === address.room) ?? (ENTRIES[0] as RoomEntry)
  useEffect(() => {
    document.title = `${entry.title} · ${address.branch}${graph === null ? '' : ` · ${graph}`} · OmniGraph Studio`
  }, [entry, address.branch, graph])
  useEffect(
    () =>
      listen(() => ({
        rooms: Object.fromEntries(ENTRIES.map((each) => [each.key, () => enter(each, go)])),
        single: { '?': () => setShown('help'), b: () => setShown('place'), r: refresh, '/': focusMain },
      })),
    [go, refresh],
  )

  const studio: Studio = {
    address,
    go,
    href: (move) => formatAddress(moved(address, move)),
    client,
    root,
    config: config.value,
    may: (action) => config.value?.may.includes(action) ?? false,
    place,
    colours,
    now,
    epoch,
    refresh,
  }
  const leave = (): void => {
    session.leave()
    setDoor('closed')
  }
  return (
    <StudioContext.Provider value={studio}>
      <a class="skip" href="#room" onClick={(event) => (event.preventDefault(), document.getElementById('room')?.focus())}>
        Skip to the room
      </a>
      <Bar hasToken={session.token !== null} leave={leave} pick={() => setShown('place')} help={() => setShown('help')} />
      {isGone ? (
        <div class="gone" role="alert">
          The server does not answer. What you see may be old; the page tries again by itself.
        </div>
      ) : null}
      <main id="room" tabIndex={-1} data-room={entry.room} aria-busy={place.isLoading}>
        <RoomOf entry={entry} config={config} />
      </main>
      {shown === 'help' ? <Help onClose={() => setShown(null)} /> : null}
      {shown === 'place' ? <PlacePicker onClose={() => setShown(null)} /> : null}
    </StudioContext.Provider>
  )
}

function RoomOf({ entry, config }: { entry: RoomEntry; config: { error: unknown; retry: () => void; value: Config | null } }) {
  const { address, href } = useStudio()
  const { Room, error, retry } = useRoom(entry)
  if (error !== null) return <Failure error={new ApiError(0, 'unreachable', `the room ${entry.title} could not be fetched`)} retry={retry} />
  if (config.error !== null && config.value === null) {
    return (
      <div class="stack">
        <Failure error={config.error} retry={config.retry} />
        {address.graph === null ? null : <a href={href({ graph: null })}>Go to another graph</a>}
      </div>
    )
  }
  if (Room === null || config.value === null) return <Loading what={entry.title} />
  return <Room />
}

/** Go to a room by a key; what Tab reaches next is in the room. */
function enter(entry: RoomEntry, go: Studio['go']): void {
  go({ room: entry.room })
  document.getElementById('room')?.focus()
}

function focusMain(): void {
  document.querySelector<HTMLElement>('#room [data-main]')?.focus()
}

export function App({ session }: { session: Session }) {
  return <Doorway session={session}>{(inside) => <Inside session={session} inside={inside} />}</Doorway>
}
