import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { facts, setTitle } from './api.ts'
import { Costs } from './costs.tsx'
import { useKeys } from './keys.tsx'
import { go, readRoute, sessionsLink, useRoute } from './router.ts'
import { Search } from './search.tsx'
import { SessionPage } from './session.tsx'
import { Sessions } from './sessions.tsx'
import './style.css'
import { Badge, Keyboard, Overlays } from './ui.tsx'

/** The page: a header, a view, and what lies over it. */
function Page() {
  const route = useRoute()
  const [overlay, setOverlay] = useState<'keyboard' | 'search'>()
  useKeys('Anywhere', [
    { keys: '?', label: 'This overview', run: () => setOverlay('keyboard') },
    { keys: '/', label: 'Search', run: () => setOverlay('search') },
    { keys: 's', label: 'Sessions', run: () => go(sessionsLink()) },
    { keys: '$', label: 'Costs of all sessions', run: () => go('#/costs') },
  ])
  const close = (): void => setOverlay(undefined)
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={sessionsLink()}>
          undertext
        </a>
        <nav aria-label="Store">
          <a href={sessionsLink()} aria-current={route.page === 'sessions' ? 'page' : undefined}>
            Sessions
          </a>
          <a href="#/costs" aria-current={route.page === 'costs' ? 'page' : undefined}>
            Costs
          </a>
        </nav>
        {facts.title !== undefined && (
          <span class="store dim" title={facts.title}>
            {facts.title}
          </span>
        )}
        {facts.readonly && <Badge>read-only</Badge>}
        <span class="spring" />
        <button type="button" class="search-button" onClick={() => setOverlay('search')}>
          Search <kbd>/</kbd>
        </button>
        <ThemeButton />
        <button
          type="button"
          class="icon-button"
          aria-label="Keyboard shortcuts"
          title="Keyboard (?)"
          onClick={() => setOverlay('keyboard')}
        >
          ?
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {route.page === 'session' ? (
          <SessionPage key={`${route.id} ${route.query.owner}`} route={route} />
        ) : route.page === 'costs' ? (
          <Costs />
        ) : (
          <Sessions query={route.query} />
        )}
      </main>
      {overlay === 'keyboard' && <Keyboard onClose={close} />}
      {overlay === 'search' && (
        <Search sessionId={route.page === 'session' ? route.id : undefined} onClose={close} />
      )}
      <Overlays />
    </>
  )
}

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const SIGNS: { readonly [theme in Theme]: string } = { auto: '◐', light: '○', dark: '●' }

/** The theme of the system, unless another one is chosen; the choice is kept in the browser. */
function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((one) => one === localStorage.getItem('undertext-theme')) ?? 'auto',
  )
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    localStorage.setItem('undertext-theme', theme)
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(next)}
    >
      {SIGNS[theme]}
    </button>
  )
}

/** Titles of the browser's tabs and history. A session writes its own. */
function nameTab(): void {
  const { page } = readRoute(location.hash)
  if (page !== 'session') setTitle(page === 'costs' ? 'Costs' : undefined)
}
addEventListener('hashchange', nameTab)
nameTab()

const root = document.getElementById('app')!
root.replaceChildren()
render(<Page />, root)
