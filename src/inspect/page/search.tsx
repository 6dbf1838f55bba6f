import { useEffect, useState } from 'preact/hooks'
import type { SearchHit } from '../../storage/storage.ts'
import { asCallError, type CallError, call } from './api.ts'
import { go, sessionLink } from './router.ts'
import { attempt, Badge, Dialog, Failed, Skeleton, Time } from './ui.tsx'

type Found = { readonly hits: readonly SearchHit[]; readonly cursor: string | undefined }

/** Searches what is stored, hidden or not; a hit leads to its message. */
export function Search({ sessionId, onClose }: { readonly sessionId: string | undefined; onClose(): void }) {
  const [text, setText] = useState('')
  const [isHere, setHere] = useState(sessionId !== undefined)
  const [onlyHidden, setOnlyHidden] = useState(false)
  const [found, setFound] = useState<Found>()
  const [error, setError] = useState<CallError>()
  const [chosen, setChosen] = useState(0)
  const session = isHere ? sessionId : undefined
  const query = (cursor?: string) =>
    call('search', [
      text,
      {
        limit: 20,
        ...(session !== undefined && { session }),
        ...(onlyHidden && { hidden: true }),
        ...(cursor !== undefined && { cursor }),
      },
    ])
  useEffect(() => {
    setError(undefined)
    setChosen(0)
    if (text.trim() === '') return setFound(undefined)
    let isCurrent = true
    const timer = setTimeout(() => {
      query().then(
        ({ hits, cursor }) => isCurrent && setFound({ hits, cursor }),
        (thrown) => isCurrent && setError(asCallError(thrown)),
      )
    }, 150)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, session, onlyHidden])
  const open = (hit: SearchHit | undefined): void => {
    if (hit === undefined) return
    onClose()
    go(
      sessionLink(hit.sessionId, 'conversation', {
        message: hit.position ?? hit.messageId,
        ...(hit.sessionId !== sessionId && { owner: undefined }),
      }),
    )
  }
  return (
    <Dialog title="Search" wide onClose={onClose}>
      <div class="search-box">
        <input
          type="search"
          autofocus
          aria-label="Search messages"
          placeholder="A question, a name, a path, an error message"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            const hits = found?.hits ?? []
            if (event.key === 'ArrowDown') setChosen(Math.min(hits.length - 1, chosen + 1))
            else if (event.key === 'ArrowUp') setChosen(Math.max(0, chosen - 1))
            else if (event.key === 'Enter') open(hits[chosen])
            else return
            event.preventDefault()
          }}
        />
        <div class="search-options">
          {sessionId !== undefined && (
            <label>
              <input
                type="checkbox"
                checked={isHere}
                onChange={(event) => setHere(event.currentTarget.checked)}
              />{' '}
              only this session
            </label>
          )}
          <label>
            <input
              type="checkbox"
              checked={onlyHidden}
              onChange={(event) => setOnlyHidden(event.currentTarget.checked)}
            />{' '}
            only what the model no longer sees
          </label>
        </div>
      </div>
      {error !== undefined && <Failed error={error} />}
      {text.trim() !== '' && found === undefined && error === undefined && <Skeleton />}
      {found !== undefined && found.hits.length === 0 && <p class="dim">Nothing found.</p>}
      <ol class="hits">
        {found?.hits.map((hit, at) => (
          <li key={hit.messageId + hit.sessionId}>
            <button type="button" class={`hit${at === chosen ? ' chosen' : ''}`} onClick={() => open(hit)}>
              <span class="hit-head">
                <b>{hit.kind === 'summary' ? 'summary' : hit.role}</b>
                {hit.position !== undefined && <span class="dim">{hit.position}</span>}
                {session === undefined && <span class="dim hit-session">{hit.sessionId}</span>}
                {hit.hiddenBy !== undefined && <Badge>hidden</Badge>}
                <span class="spring" />
                <Time at={hit.createdAt} />
              </span>
              <span class="hit-text">{marked(hit.snippet)}</span>
            </button>
          </li>
        ))}
      </ol>
      {found?.cursor !== undefined && (
        <button
          type="button"
          onClick={() =>
            void attempt(async () => {
              const next = await query(found.cursor)
              setFound({ hits: [...found.hits, ...next.hits], cursor: next.cursor })
            })
          }
        >
          More
        </button>
      )}
    </Dialog>
  )
}

/** The passage with the words of the query marked. */
function marked({ text, marks }: SearchHit['snippet']) {
  const pieces = []
  let at = 0
  for (const [start, end] of marks) {
    if (start > at) pieces.push(text.slice(at, start))
    pieces.push(<mark key={start}>{text.slice(start, end)}</mark>)
    at = end
  }
  return [...pieces, text.slice(at)]
}
