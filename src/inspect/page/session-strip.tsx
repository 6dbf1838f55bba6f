import { useMemo, useState } from 'preact/hooks'
import type { Compaction } from '../../storage/storage.ts'
import { kindWords } from './compaction-runs.ts'
import { counted, percent, whole } from './format.ts'
import { useWidth } from './hooks.ts'
import { type Bucket, bucketsOf, countsOf, type Segment, segmentsOf } from './strip.ts'

const EFFECTS = [
  { effect: 'kept', label: 'Kept' },
  { effect: 'replaced', label: 'Parts replaced' },
  { effect: 'summarized', label: 'Summarized' },
  { effect: 'truncated', label: 'Truncated' },
  { effect: 'byHand', label: 'Hidden by hand or rewound' },
] as const
const LABELS = Object.fromEntries(EFFECTS.map(({ effect, label }) => [effect, label])) as {
  readonly [effect in Segment['effect']]: string
}

const HEIGHT = 36
/** The narrowest column that can be clicked. */
const COLUMN = 4
const MOST_LISTED = 200

/** The map of a session: what compactions in force do to each position of the log. */
export function SessionStrip({
  compactions,
  messages,
  selected,
  onSelect,
}: {
  readonly compactions: readonly Compaction[]
  readonly messages: number
  readonly selected: ReadonlySet<string>
  onSelect(compactionId: string): void
}) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState<number>()
  const segments = useMemo(() => segmentsOf(compactions, messages), [compactions, messages])
  const buckets = useMemo(
    () => (width === 0 || messages === 0 ? [] : bucketsOf(segments, Math.max(1, Math.floor(width / COLUMN)))),
    [segments, width, messages],
  )
  const counts = useMemo(() => countsOf(segments), [segments])
  const names = useMemo(() => new Map(compactions.map((one) => [one.id, kindWords(one)])), [compactions])
  const x = (position: number): number => (position / Math.max(1, messages)) * width
  const words = (bucket: Bucket): string => bucketWords(bucket, names)
  const focused = at === undefined ? undefined : buckets[Math.min(at, buckets.length - 1)]
  const step = (by: number): void => {
    const next = Math.min(buckets.length - 1, Math.max(0, (at ?? (by > 0 ? -1 : buckets.length)) + by))
    setAt(next)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowRight') step(1)
    else if (event.key === 'ArrowLeft') step(-1)
    else if (event.key === 'Home') setAt(0)
    else if (event.key === 'End') setAt(buckets.length - 1)
    else if (event.key === 'Enter' && focused?.compactionId !== undefined) onSelect(focused.compactionId)
    else return
    event.preventDefault()
  }
  const bucketAt = (event: MouseEvent): number => {
    const { left } = box.current!.getBoundingClientRect()
    const position = ((event.clientX - left) / width) * messages
    return Math.max(
      0,
      buckets.findIndex(({ to }) => to >= position),
    )
  }
  return (
    <section class="card strip-card" aria-label="Map of the session">
      <header class="strip-head">
        <h2>Map of the session</h2>
        <ul class="legend small">
          {EFFECTS.filter(({ effect }) => counts[effect] > 0).map(({ effect, label }) => (
            <li key={effect}>
              <span class={`dot strip-${effect}`} />
              {label} <b>{whole(counts[effect])}</b>{' '}
              <span class="dim">{percent(counts[effect] / Math.max(1, messages))}</span>
            </li>
          ))}
        </ul>
      </header>
      <div
        class="strip-box"
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label="Positions of the log"
        aria-valuemin={1}
        aria-valuemax={messages}
        aria-valuenow={focused?.from ?? 1}
        aria-valuetext={
          focused === undefined
            ? `${counted(messages, 'message')}. Move with the arrow keys.`
            : words(focused)
        }
        onKeyDown={onKeyDown}
        onMouseMove={(event) => setAt(bucketAt(event))}
        onMouseLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        onClick={(event) => {
          const { compactionId } = buckets[bucketAt(event)] ?? {}
          if (compactionId !== undefined) onSelect(compactionId)
        }}
      >
        {width > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true">
            {buckets.map((bucket) => (
              <Column
                key={bucket.from}
                bucket={bucket}
                left={x(bucket.from - 1)}
                right={x(bucket.to)}
                isSelected={bucket.compactionId !== undefined && selected.has(bucket.compactionId)}
              />
            ))}
            {focused !== undefined && (
              <rect
                class="strip-focus"
                x={x(focused.from - 1) + 0.5}
                y={0.5}
                width={Math.max(2, x(focused.to) - x(focused.from - 1) - 1)}
                height={HEIGHT - 1}
              />
            )}
          </svg>
        )}
      </div>
      <p class="strip-words small dim">
        {focused === undefined ? `Positions 1 to ${whole(messages)}.` : words(focused)}
      </p>
      <details class="strip-list small">
        <summary class="dim">As a list</summary>
        <ol>
          {segments.slice(0, MOST_LISTED).map(({ from, to, effect, compactionId }) => (
            <li key={from}>
              {compactionId === undefined ? (
                <span>
                  {rangeOf(from, to)}: {LABELS[effect]}
                </span>
              ) : (
                <button type="button" class="link" onClick={() => onSelect(compactionId)}>
                  {rangeOf(from, to)}: {LABELS[effect]} by “{names.get(compactionId)}”
                </button>
              )}
            </li>
          ))}
          {segments.length > MOST_LISTED && (
            <li class="dim">and {whole(segments.length - MOST_LISTED)} more</li>
          )}
        </ol>
      </details>
    </section>
  )
}

const rangeOf = (from: number, to: number): string =>
  from === to ? `Message ${whole(from)}` : `Messages ${whole(from)} to ${whole(to)}`

function bucketWords({ from, to, shares, compactionId }: Bucket, names: ReadonlyMap<string, string>): string {
  const [only] = shares
  const what =
    shares.length === 1
      ? LABELS[only!.effect]
      : shares.map(({ effect, share }) => `${LABELS[effect].toLowerCase()} ${percent(share)}`).join(', ')
  const by = compactionId === undefined ? '' : ` (${names.get(compactionId)})`
  return `${rangeOf(from, to)}: ${what}${by}`
}

function Column({
  bucket,
  left,
  right,
  isSelected,
}: {
  readonly bucket: Bucket
  readonly left: number
  readonly right: number
  readonly isSelected: boolean
}) {
  let top = 0
  return (
    <g class={isSelected ? 'strip-column strip-selected' : 'strip-column'}>
      {bucket.shares.map(({ effect, share }) => {
        const y = top
        top += share * HEIGHT
        return (
          <rect
            key={effect}
            class={`strip-${effect}`}
            x={left}
            y={y}
            width={Math.max(1, right - left)}
            height={share * HEIGHT}
          />
        )
      })}
      {isSelected && (
        <rect class="strip-mark" x={left} y={HEIGHT - 4} width={Math.max(1, right - left)} height={4} />
      )}
    </g>
  )
}
