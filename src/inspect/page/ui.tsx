import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { asCallError, type CallError } from './api.ts'
import { fullTime, percent, short, shortId, time, whole } from './format.ts'
import { shortcutGroups } from './keys.tsx'
import { type ByCategory, CATEGORIES, type Category, sumOf } from './tokens.ts'

/* The parts that every view uses: figures, states, dialogs, messages. */

export const color = (category: Category): string => `var(--cat-${category})`

/** A bar of categories against a limit, with marks such as the threshold. The figures are also in a title for screen readers. */
export function Bar({
  parts,
  limit,
  marks = [],
  label,
}: {
  readonly parts: ByCategory
  readonly limit: number
  readonly marks?: readonly { readonly at: number; readonly label: string }[]
  readonly label: string
}) {
  const used = sumOf(parts)
  const scale = Math.max(limit, used, 1)
  return (
    <div class="bar" role="img" aria-label={`${label}: ${whole(Math.round(used))} of ${whole(limit)} tokens`}>
      {CATEGORIES.map(({ key, label: name }) => {
        const value = parts[key] ?? 0
        return value > 0 ? (
          <span
            key={key}
            class="bar-part"
            title={`${name}: ${whole(Math.round(value))} tokens`}
            style={{ width: `${(value / scale) * 100}%`, background: color(key) }}
          />
        ) : null
      })}
      {marks.map(({ at, label: name }) => (
        <span
          key={name}
          class="bar-mark"
          title={name}
          style={{ left: `${Math.min(1, at / scale) * 100}%` }}
        />
      ))}
    </div>
  )
}

/** The names and figures of categories, for a bar or a chart. */
export function Legend({ parts }: { readonly parts: ByCategory }) {
  const used = sumOf(parts)
  return (
    <ul class="legend">
      {CATEGORIES.filter(({ key }) => (parts[key] ?? 0) > 0).map(({ key, label }) => (
        <li key={key}>
          <span class="dot" style={{ background: color(key) }} />
          {label} <b>{short(parts[key]!)}</b> <span class="dim">{percent(parts[key]! / used)}</span>
        </li>
      ))}
    </ul>
  )
}

export function Time({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {time(at)}
    </time>
  )
}

/** Copies a text, and says so. */
export async function copy(text: string, said: string): Promise<void> {
  await attempt(async () => {
    await navigator.clipboard.writeText(text)
    toast({ text: said })
  })
}

/** An id, shortened; a click copies the whole. */
export function Id({ id }: { readonly id: string }) {
  return (
    <button
      type="button"
      class="id"
      title={`Copy ${id}`}
      onClick={(event) => {
        event.stopPropagation()
        void copy(id, 'Copied the id.')
      }}
    >
      {shortId(id)}
    </button>
  )
}

export function Badge({
  kind = 'plain',
  title,
  children,
}: {
  readonly kind?: 'plain' | 'accent' | 'good' | 'warn' | 'bad'
  readonly title?: string
  readonly children: ComponentChildren
}) {
  return (
    <span class={`badge badge-${kind}`} title={title}>
      {children}
    </span>
  )
}

/** A name and its value in a list of facts (`dl`). */
export function Fact({
  name,
  look,
  children,
}: {
  readonly name: ComponentChildren
  readonly look?: string
  readonly children: ComponentChildren
}) {
  return (
    <div class={look}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** What a view shows when there is nothing: what it would show, and how it gets there. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="empty-text">{children}</div>}
    </div>
  )
}

/** An error with a way to try again. */
export function Failed({ error, retry }: { readonly error: CallError; retry?(): void }) {
  return (
    <div class="failed" role="alert">
      <p>{error.message}</p>
      <p class="dim">
        <code>{error.code}</code>
        {retry !== undefined && (
          <button type="button" class="link" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    </div>
  )
}

/** Gray lines where text will be. They appear after a moment, so that quick answers don't flicker. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} style={{ width: `${[92, 78, 85, 60][at % 4]}%` }} />
      ))}
    </div>
  )
}

/** Shows a loaded value, or the state in which there is none. */
export function Show<T>({
  of,
  lines,
  children,
}: {
  readonly of: { readonly value: T | undefined; readonly error: CallError | undefined; reload(): void }
  readonly lines?: number
  children(value: NonNullable<T>): ComponentChildren
}) {
  if (of.error !== undefined) return <Failed error={of.error} retry={of.reload} />
  if (of.value === undefined || of.value === null) return <Skeleton lines={lines ?? 4} />
  return <>{children(of.value)}</>
}

/* Dialogs, questions and messages at the edge. */

type Question = {
  readonly title: string
  readonly body?: ComponentChildren
  readonly action: string
}
type Asked = Question & { resolve(agreed: boolean): void }
type Toast = {
  readonly text: string
  readonly kind?: 'plain' | 'bad'
  /** What takes it back. */
  readonly undo?: { readonly label: string; run(): Promise<unknown> }
}
type Shown = Toast & { readonly no: number }

let showQuestion: (asked: Asked | undefined) => void = () => {}
let showToasts: (change: (shown: readonly Shown[]) => readonly Shown[]) => void = () => {}
let toasts = 0

/** Asks once before something that hides content or costs money. */
export function ask(question: Question): Promise<boolean> {
  return new Promise((resolve) => showQuestion({ ...question, resolve }))
}

/** Says what happened, and offers to undo it. */
export function toast(given: Toast): void {
  const no = ++toasts
  // An offer to undo is only good for what was done last.
  showToasts((shown) => [...shown.filter(({ undo }) => undo === undefined).slice(-2), { ...given, no }])
  setTimeout(() => dismiss(no), given.undo === undefined && given.kind !== 'bad' ? 5_000 : 20_000)
}

function dismiss(no: number): void {
  showToasts((shown) => shown.filter((one) => one.no !== no))
}

/** Runs an action; an error is shown, and the result is undefined. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    toast({ text: asCallError(error).message, kind: 'bad' })
    return undefined
  }
}

/** A modal dialog: Escape closes it, and the focus returns. */
export function Dialog({
  title,
  wide,
  onClose,
  children,
}: {
  readonly title: string
  readonly wide?: boolean
  onClose(): void
  readonly children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => (before instanceof HTMLElement ? before.focus() : undefined)
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class={wide ? 'wide' : ''}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** The place of questions and messages; once on the page. */
export function Overlays() {
  const [asked, setAsked] = useState<Asked>()
  const [shown, setShown] = useState<readonly Shown[]>([])
  showQuestion = setAsked
  showToasts = setShown
  const answer = (agreed: boolean): void => {
    asked?.resolve(agreed)
    setAsked(undefined)
  }
  return (
    <>
      {asked !== undefined && (
        <Dialog title={asked.title} onClose={() => answer(false)}>
          {asked.body !== undefined && <div class="dialog-text">{asked.body}</div>}
          <footer class="dialog-foot">
            <button type="button" onClick={() => answer(false)}>
              Cancel
            </button>
            <button type="button" autofocus class="primary" onClick={() => answer(true)}>
              {asked.action}
            </button>
          </footer>
        </Dialog>
      )}
      <div class="toasts" aria-live="polite">
        {shown.map(({ no, text, kind = 'plain', undo }) => (
          <div key={no} class={`toast toast-${kind}`}>
            <span>{text}</span>
            {undo !== undefined && (
              <button
                type="button"
                class="link"
                onClick={() => {
                  dismiss(no)
                  void attempt(undo.run)
                }}
              >
                {undo.label}
              </button>
            )}
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(no)}>
              ✕
            </button>
          </div>
        ))}
      </div>
    </>
  )
}

/** The overview of the keyboard. */
export function Keyboard({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      {shortcutGroups().map(({ group, shortcuts }) => (
        <section key={group} class="keys">
          <h3>{group}</h3>
          <dl>
            {shortcuts.map(({ keys, label }) => (
              <div key={keys}>
                <dt>
                  {keys.split(' / ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}

/** What a menu shows if it has no words of its own; its label is then its name. */
const SIGN = '⋯'

/** A button that opens a list of actions. It closes on a choice, on Escape and when the focus leaves. */
export function Menu({
  label,
  children = SIGN,
  items,
}: {
  readonly label: string
  readonly children?: ComponentChildren
  readonly items: readonly (
    | { readonly label: string; readonly hint?: string; run(): void }
    | undefined
    | false
  )[]
}) {
  const box = useRef<HTMLDetailsElement>(null)
  const close = (): void => {
    if (box.current !== null) box.current.open = false
  }
  const shown = items.filter((item) => item !== undefined && item !== false)
  if (shown.length === 0) return null
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDetailsElement>): void => {
    const all = [...(box.current?.querySelectorAll<HTMLButtonElement>('.menu-items button') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    if (event.key === 'Escape') {
      close()
      box.current?.querySelector('summary')?.focus()
    } else if (event.key === 'ArrowDown' && box.current?.open) all[(at + 1) % all.length]?.focus()
    else if (event.key === 'ArrowUp' && box.current?.open) all.at(at - 1)?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <details
      class="menu"
      ref={box}
      onKeyDown={onKeyDown}
      onToggle={() =>
        box.current?.open && box.current.querySelector('.menu-items')?.scrollIntoView({ block: 'nearest' })
      }
      onFocusOut={(event) => !box.current?.contains(event.relatedTarget as Node | null) && close()}
    >
      <summary aria-label={children === SIGN ? label : undefined} title={label}>
        {children}
      </summary>
      <div class="menu-items">
        {shown.map((item) => (
          <button
            key={item.label}
            type="button"
            onClick={() => {
              // Before it runs: what it opens takes the focus from there, and gives it back.
              box.current?.querySelector('summary')?.focus()
              close()
              item.run()
            }}
          >
            {item.label}
            {item.hint !== undefined && <span class="dim">{item.hint}</span>}
          </button>
        ))}
      </div>
    </details>
  )
}
