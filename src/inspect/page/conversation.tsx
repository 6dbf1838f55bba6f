import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { listIn } from '../../core/messages/json.ts'
import { partsOf } from '../../core/messages/message.ts'
import type { Compaction, Session } from '../../storage/storage.ts'
import { canChange, hide, setPin } from './actions.tsx'
import { call, useCall } from './api.ts'
import './conversation.css'
import {
  type Filter,
  hidingOf,
  type Item,
  indexOf,
  itemsOf,
  nextBoundary,
  placeOf,
} from './conversation-items.ts'
import { ConversationRow, hiddenWords, type RowContext, requestLink, UndoLink } from './conversation-row.tsx'
import { type ConversationRows, pageOf, useConversationRows } from './conversation-rows.ts'
import { type Choices, choicesFor, versionsOf } from './conversation-versions.ts'
import { counted, whole } from './format.ts'
import { useLast } from './hooks.ts'
import { KeptState } from './kept-state.ts'
import { useKeys } from './keys.tsx'
import { go, sessionLink } from './router.ts'
import { useScan, type Wanted } from './row-facts.ts'
import type { TabProps } from './session-tab.ts'
import { absorbedParts } from './tool-pairs.ts'
import { attempt, Empty, Failed, Skeleton } from './ui.tsx'
import { VersionLine } from './version-line.tsx'
import { useVirtualList } from './virtual-list.ts'

/** Everything stored of a session: a list over its whole log, of which only what is near the viewport is read and shown. */
export function Conversation(props: TabProps) {
  const { session, version } = props
  const loaded = useCall('listCompactions', [session.id], version)
  const compactions = useLast(loaded.value)
  const kept = useRef(new Map<string, unknown>()).current
  const rows = useConversationRows(session.id, version)
  // Where one begins is read together with the compactions.
  useEffect(() => {
    const position = Number(props.query.message)
    rows.need([pageOf(position >= 1 ? Math.min(position, session.messageCount) : session.messageCount)])
  }, [rows.need])
  if (session.messageCount === 0 && session.activeCompactions === 0)
    return (
      <Empty title="No messages yet">
        Messages appear here when they are appended, also by another process.
      </Empty>
    )
  if (compactions === undefined)
    return loaded.error === undefined ? (
      <Skeleton lines={10} />
    ) : (
      <Failed error={loaded.error} retry={loaded.reload} />
    )
  return (
    <KeptState.Provider value={kept}>
      <List {...props} rows={rows} compactions={compactions} />
    </KeptState.Provider>
  )
}

type ListProps = TabProps & {
  readonly compactions: readonly Compaction[]
  readonly rows: ConversationRows
}
type Target = {
  readonly key: number | string
  readonly align: 'auto' | 'center' | 'start'
  readonly tries: number
}

function List({ session, version, query, compactions, forks, rows }: ListProps) {
  const { id: sessionId, messageCount } = session
  const [filter, setFilter] = useState<Filter>('everything')
  const [wanted, setWanted] = useState<Wanted>({ role: '', tool: '' })
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const [choices, setChoices] = useState<Choices>(new Map())
  const [focused, setFocused] = useState<number | string>()
  const [target, setTarget] = useState<Target>()
  const awaited = useRef<number | string | undefined>(undefined)
  const scan = useScan(sessionId, messageCount, wanted)
  const versions = useMemo(() => versionsOf(compactions, messageCount), [compactions, messageCount])
  const hiding = useMemo(() => hidingOf(compactions), [compactions])
  const items = useMemo(
    () => itemsOf({ messageCount, hiding, versions, choices, filter, toggled, matches: scan.matches }),
    [
      messageCount,
      hiding,
      versions,
      choices,
      filter,
      toggled,
      scan.matches === undefined,
      wanted,
      scan.revision,
    ],
  )
  const context = useMemo((): RowContext => {
    const byId = new Map(compactions.map((one) => [one.id, one]))
    const forksAt = new Map<number, Session[]>()
    for (const one of forks) listIn(forksAt, one.forkedFrom?.position ?? 0).push(one)
    return { sessionId, version, messageCount, compactions, forksAt, compaction: (id) => byId.get(id) }
  }, [sessionId, version, messageCount, compactions, forks])

  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualList({
    count: items.length,
    getScrollElement: useCallback(() => scroller.current, []),
    estimateSize: useCallback((index: number) => estimateOf(items[index]), [items]),
    getItemKey: useCallback((index: number) => items[index]?.key ?? index, [items]),
  })
  const shown = list.getVirtualItems()

  const pages = pagesOf(shown.map(({ index }) => items[index]))
  useEffect(() => {
    if (!list.isScrolling) {
      rows.need(pages)
      return
    }
    // What only flies past isn't read.
    const timer = setTimeout(() => rows.need(pages), 40)
    return () => clearTimeout(timer)
  }, [pages.join(), rows.need])

  // Where one begins: at the message of the address, or at the end.
  const asked = useRef<string | undefined>(undefined)
  useEffect(() => {
    const { message } = query
    if (asked.current === (message ?? '')) return
    const isFirst = asked.current === undefined
    asked.current = message ?? ''
    if (message === undefined) {
      setAim(undefined)
      if (isFirst) list.scrollToEnd()
      return
    }
    let gone = false
    void keyOf(sessionId, message, hiding).then((key) => {
      if (gone || key === undefined) return
      setAim(key)
      setTarget({ key, align: 'center', tries: 0 })
    })
    return () => {
      gone = true
    }
  }, [query.message, sessionId])

  // The result of a call is beneath the call, so a link to it leads there.
  const [aim, setAim] = useState<number | string>()
  useEffect(() => {
    const row = aim === undefined ? undefined : rows.rowAt(aim)
    if (row === undefined) return
    const { parts, position } = absorbedParts(row, (at) => rows.rowAt(at))
    if (position === undefined || parts.size < partsOf(row).length) return
    setAim(position)
    setTarget({ key: position, align: 'center', tries: 0 })
  }, [aim, rows.revision])

  // Goes to a row, after what hides it from the list was changed.
  useEffect(() => {
    if (target === undefined) return
    const { key, align, tries } = target
    const index = items.findIndex((item) => item.key === key)
    // Another target may have been set since.
    const leave = (next: Target | undefined): void => setTarget((now) => (now === target ? next : now))
    if (index >= 0) {
      leave(undefined)
      list.scrollToIndex(index, { align })
      setFocused(key)
      awaited.current = key
      focusSoon(scroller.current, key, () => awaited.current === key)
      return
    }
    if (tries > 3) {
      leave(undefined)
      return
    }
    const position = typeof key === 'number' ? key : hiding.inserted.find(({ id }) => id === key)?.anchor
    const again = { ...target, tries: tries + 1 }
    const fold = position === undefined ? undefined : items[indexOf(items, position)]
    if (filter !== 'everything' || scan.matches !== undefined) {
      setFilter('everything')
      setWanted({ role: '', tool: '' })
    } else if (fold?.kind === 'fold') setToggled(new Set([...toggled, fold.key]))
    else if (position !== undefined) setChoices(choicesFor(versions, choices, position))
    leave(again)
  }, [target, items])

  // Another filter begins at the end, unless it was cleared to go to a row.
  const filtered = useRef<unknown>(undefined)
  useEffect(() => {
    const key = JSON.stringify([filter, wanted])
    if (filtered.current === key || items.length === 0) return
    if (filtered.current !== undefined && target === undefined) list.scrollToEnd()
    filtered.current = key
  }, [filter, wanted, items.length === 0])

  const toggle = useCallback((key: string): void => {
    setToggled((before) => {
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      return after
    })
  }, [])
  const choose = useCallback((after: number, from: number): void => {
    setChoices((before) => new Map([...before, [after, from]]))
    setTarget({ key: `version ${from}`, align: 'center', tries: 0 })
  }, [])

  const goTo = (index: number, align: 'auto' | 'start' = 'auto'): void => {
    const item = items[index]
    if (item !== undefined) setTarget({ key: item.key, align, tries: 3 })
  }
  const current = (): number => {
    const index = focused === undefined ? -1 : items.findIndex(({ key }) => key === focused)
    return index >= 0 ? index : (shown.find(({ end }) => end > (list.scrollOffset ?? 0) + 40)?.index ?? 0)
  }
  const step = (direction: 1 | -1): void => {
    let index = focused === undefined ? current() : current() + direction
    // Results beneath an earlier call have no height of their own.
    while (items[index] !== undefined && list.itemSizeCache.get(items[index]!.key) === 0) index += direction
    goTo(index)
  }
  const focusedRow = () => {
    const item = items[current()]
    return item?.kind === 'message' || item?.kind === 'inserted' ? rows.rowAt(item.key) : undefined
  }
  useKeys('Conversation', [
    { keys: 'j', label: 'Next row', run: () => step(1) },
    { keys: 'k', label: 'Previous row', run: () => step(-1) },
    { keys: 'g', label: 'First row', run: () => goTo(0, 'start') },
    { keys: 'G', label: 'Last row', run: () => goTo(items.length - 1) },
    { keys: 'n', label: 'Next compaction', run: () => goTo(nextBoundary(items, current(), 1)) },
    { keys: 'N', label: 'Previous compaction', run: () => goTo(nextBoundary(items, current(), -1)) },
    {
      keys: 'o',
      label: 'Open or fold the row (or Enter)',
      run: () => openOrFold(scroller.current, items[current()]),
    },
    {
      keys: 'w',
      label: 'What the model saw at this answer',
      run: () => {
        const row = focusedRow()
        if (row?.role === 'assistant' && row.kind === 'message') go(requestLink(sessionId, row))
      },
    },
    ...(canChange
      ? [
          {
            keys: 'p',
            label: 'Pin or unpin',
            run: () => {
              const row = focusedRow()
              if (row !== undefined) void setPin(sessionId, [row.id], !row.pinned)
            },
          },
          {
            keys: 'h',
            label: 'Hide from the model',
            run: () => {
              const row = focusedRow()
              if (row !== undefined && !row.hidden) void hide(sessionId, [row.id])
            },
          },
        ]
      : []),
  ])

  const unread = useUnread(messageCount, list.isAtEnd(80) || list.scrollRect === null)
  return (
    <div class="conversation-tab">
      <Toolbar
        filter={filter}
        setFilter={setFilter}
        wanted={wanted}
        setWanted={setWanted}
        share={scan.share}
        isScanning={scan.matches !== undefined && scan.share < 1}
        toolNames={scan.toolNames}
        messageCount={messageCount}
        count={items.length}
        goTo={(position) => {
          if (query.message !== String(position)) {
            go(sessionLink(sessionId, 'conversation', { ...query, message: position }))
            return
          }
          setAim(position)
          setTarget({ key: position, align: 'center', tries: 0 })
        }}
      />
      {rows.error !== undefined && <Failed error={rows.error} retry={rows.retry} />}
      <div
        class="conversation"
        ref={scroller}
        role="feed"
        aria-label="Conversation"
        aria-busy={shown.length === 0}
      >
        {items.length === 0 && (
          <Empty title={scan.matches !== undefined && scan.share < 1 ? 'Searching …' : 'No rows match'}>
            <button
              type="button"
              class="link"
              onClick={() => {
                setFilter('everything')
                setWanted({ role: '', tool: '' })
              }}
            >
              Show everything
            </button>
          </Empty>
        )}
        <div class="rows" style={{ height: `${list.getTotalSize()}px` }}>
          <div style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}>
            {shown.map(({ index, key }) => {
              const item = items[index]
              return (
                item !== undefined && (
                  <article
                    key={key}
                    ref={list.measureElement}
                    data-index={index}
                    data-key={String(item.key)}
                    tabIndex={-1}
                    class={classOf(item, rows, item.key === focused, item.key === aim)}
                    aria-posinset={index + 1}
                    aria-setsize={items.length}
                    aria-label={labelOf(item)}
                    onFocusIn={() => setFocused(item.key)}
                    onKeyDown={(event) => {
                      if (event.key !== 'Enter' || event.target !== event.currentTarget) return
                      event.preventDefault()
                      openOrFold(scroller.current, item)
                    }}
                  >
                    <ItemView item={item} rows={rows} context={context} toggle={toggle} choose={choose} />
                  </article>
                )
              )
            })}
          </div>
        </div>
      </div>
      {unread > 0 && (
        <button type="button" class="primary new-messages" onClick={() => list.scrollToEnd()}>
          {counted(unread, 'new message')} ↓
        </button>
      )}
    </div>
  )
}

/** Messages that were appended since the end was in sight. */
function useUnread(messageCount: number, isAtEnd: boolean): number {
  const seen = useRef(messageCount)
  if (isAtEnd || messageCount < seen.current) seen.current = messageCount
  return messageCount - seen.current
}

function ItemView({
  item,
  rows,
  context,
  toggle,
  choose,
}: {
  readonly item: Item
  readonly rows: ConversationRows
  readonly context: RowContext
  toggle(key: string): void
  choose(after: number, from: number): void
}) {
  if (item.kind === 'fold') return <FoldLine item={item} context={context} toggle={toggle} />
  if (item.kind === 'version') return <VersionLine item={item} context={context} choose={choose} />
  const row = rows.rowAt(item.key)
  if (row === undefined)
    return (
      <div class="row-waiting">
        <span class="row-place">{item.kind === 'message' ? whole(item.position) : ''}</span>
        <span class="dim">…</span>
      </div>
    )
  return <ConversationRow row={row} rows={rows} hiddenBy={item.hiddenBy} context={context} />
}

/** A run of hidden rows in one line. */
function FoldLine({
  item,
  context,
  toggle,
}: {
  readonly item: Extract<Item, { readonly kind: 'fold' }>
  readonly context: RowContext
  toggle(key: string): void
}) {
  const { key, messages, isOpen, from, to, compactionId } = item
  const compaction = context.compaction(compactionId)
  return (
    <div class="run-line">
      <button type="button" class="fold-line" aria-expanded={isOpen} onClick={() => toggle(key)}>
        <span class="fold-sign" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        <b>{foldWords(messages, compaction)}</b>
        <span class="dim nowrap">
          {whole(from)}–{whole(to)}
        </span>
        <span class="link">{isOpen ? 'fold' : 'show'}</span>
      </button>
      {compaction !== undefined && (
        <span class="run-why">
          <a href={sessionLink(context.sessionId, 'compactions', { compaction: compactionId })}>
            {hiddenWords(compaction)}
          </a>
          <UndoLink compaction={compaction} context={context} />
        </span>
      )}
    </div>
  )
}

function foldWords(messages: number, compaction: Compaction | undefined): string {
  const what = counted(messages, 'message')
  if (compaction === undefined) return `${what} hidden`
  if (compaction.coverage.rewinds === true) return `${what} rewound`
  if (compaction.status === 'undone') return `${what} not in force`
  return compaction.kind === 'condense' ? `${what} replaced with a summary` : `${what} hidden`
}

const FILTERS: readonly { readonly filter: Filter; readonly label: string }[] = [
  { filter: 'everything', label: 'Everything' },
  { filter: 'view', label: 'What the model sees' },
  { filter: 'hidden', label: 'Only hidden' },
]
const ROLES = ['user', 'assistant', 'tool', 'system', 'summary', 'marker'] as const

function Toolbar(props: {
  readonly filter: Filter
  setFilter(filter: Filter): void
  readonly wanted: Wanted
  setWanted(wanted: Wanted): void
  readonly isScanning: boolean
  readonly share: number
  readonly toolNames: readonly string[]
  readonly messageCount: number
  readonly count: number
  goTo(position: number): void
}) {
  const { filter, setFilter, wanted, setWanted, isScanning, share, toolNames, messageCount, count, goTo } =
    props
  const isFiltered = filter !== 'everything' || wanted.role !== '' || wanted.tool !== ''
  return (
    <div class="conversation-bar" role="toolbar" aria-label="Filter">
      <fieldset class="segments">
        <legend class="hidden-text">Rows</legend>
        {FILTERS.map((one) => (
          <button
            key={one.filter}
            type="button"
            aria-pressed={filter === one.filter}
            onClick={() => setFilter(one.filter)}
          >
            {one.label}
          </button>
        ))}
      </fieldset>
      <select
        aria-label="Role"
        value={wanted.role}
        onChange={(event) => setWanted({ ...wanted, role: event.currentTarget.value })}
      >
        <option value="">All roles</option>
        {ROLES.map((role) => (
          <option key={role} value={role}>
            {role}
          </option>
        ))}
      </select>
      <input
        type="search"
        class="tool-filter"
        aria-label="Tool"
        placeholder="Tool"
        list="tool-names"
        value={wanted.tool}
        onInput={(event) => setWanted({ ...wanted, tool: event.currentTarget.value })}
      />
      <datalist id="tool-names">
        {toolNames.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {isFiltered && (
        <span class="dim small" role="status">
          {counted(count, 'row')}
          {isScanning && `, ${Math.round(100 * share)} % read`}
        </span>
      )}
      <span class="spring" />
      <form
        class="go-to"
        onSubmit={(event) => {
          event.preventDefault()
          const value = new FormData(event.currentTarget).get('position')
          const position = Math.min(messageCount, Math.max(1, Math.round(Number(value))))
          if (Number.isFinite(position)) goTo(position)
        }}
      >
        <label>
          <span class="dim">Go to</span>
          <input type="number" name="position" min={1} max={messageCount} placeholder="message" required />
        </label>
        <span class="dim small nowrap">of {whole(messageCount)}</span>
      </form>
    </div>
  )
}

/** Heights until they are measured. */
function estimateOf(item: Item | undefined): number {
  return item?.kind === 'message' || item?.kind === 'inserted' ? 110 : 36
}

function pagesOf(items: readonly (Item | undefined)[]): number[] {
  const pages = new Set<number>()
  for (const item of items) {
    if (item?.kind !== 'message' && item?.kind !== 'inserted') continue
    pages.add(pageOf(placeOf(item)))
    // The calls or results of a row may be on the next page.
    if (item.kind === 'message') pages.add(pageOf(item.position - 1)).add(pageOf(item.position + 1))
  }
  return [...pages].sort((a, b) => a - b)
}

function classOf(item: Item, rows: ConversationRows, isFocused: boolean, isTarget: boolean): string {
  const names = [`item-${item.kind}`]
  if (isFocused) names.push('focused')
  if (item.kind === 'message' || item.kind === 'inserted') {
    const row = rows.rowAt(item.key)
    if (item.hiddenBy !== undefined) names.push('is-hidden')
    if (row?.kind === 'summary' || row?.kind === 'marker') names.push(`is-${row.kind}`)
    if (isTarget) names.push('is-target')
  }
  return `row ${names.join(' ')}`
}

function labelOf(item: Item): string {
  switch (item.kind) {
    case 'message':
      return `Message ${item.position}${item.hiddenBy === undefined ? '' : ', hidden'}`
    case 'inserted':
      return `Inserted after message ${item.anchor}${item.hiddenBy === undefined ? '' : ', hidden'}`
    case 'fold':
      return `Hidden messages ${item.from} to ${item.to}`
    case 'version':
      return `Version from message ${item.stretch.from}`
  }
}

/** Returns the key of a row by its position or its id. */
async function keyOf(
  sessionId: string,
  message: string,
  { inserted }: ReturnType<typeof hidingOf>,
): Promise<number | string | undefined> {
  if (inserted.some(({ id }) => id === message)) return message
  if (/^\d{1,9}$/.test(message)) return Number(message)
  const moment = await attempt(() => call('messages.moment', [sessionId, { afterMessage: message }]))
  return moment?.position
}

/** Focuses a row once it exists, unless another is wanted by then: it is made after the list scrolled to it. */
function focusSoon(
  scroller: HTMLElement | null,
  key: number | string,
  isWanted: () => boolean,
  tries = 30,
): void {
  if (!isWanted()) return
  const row = scroller?.querySelector<HTMLElement>(`[data-key="${CSS.escape(String(key))}"]`)
  if (row !== undefined && row !== null) row.focus({ preventScroll: true })
  else if (tries > 0) requestAnimationFrame(() => focusSoon(scroller, key, isWanted, tries - 1))
}

/** Opens what is folded in a row; if all is open, folds it. */
function openOrFold(scroller: HTMLElement | null, item: Item | undefined): void {
  if (item === undefined) return
  const row = scroller?.querySelector(`[data-key="${CSS.escape(String(item.key))}"]`)
  const folds = [
    ...(row?.querySelectorAll<HTMLButtonElement>('button[aria-expanded], .more > button, button.more') ?? []),
  ]
  const closed = folds.filter((button) => button.getAttribute('aria-expanded') !== 'true')
  for (const button of closed.length > 0 ? closed : folds) button.click()
}
