import { canChange, fork } from './actions.tsx'
import { call } from './api.ts'
import type { Item } from './conversation-items.ts'
import { hiddenWords, type RowContext } from './conversation-row.tsx'
import type { Stretch } from './conversation-versions.ts'
import { sessionLink } from './router.ts'
import { ask, attempt, Menu, toast } from './ui.tsx'

/** `‹ 2 / 3 ›` before the first message of a version; another version than the current one can be continued. */
export function VersionLine({
  item,
  context,
  choose,
}: {
  readonly item: Extract<Item, { readonly kind: 'version' }>
  readonly context: RowContext
  choose(after: number, from: number): void
}) {
  const { stretch, siblings } = item
  const index = siblings.findIndex(({ from }) => from === stretch.from)
  const show = (at: number): void => {
    const to = siblings[at]
    if (to !== undefined) choose(stretch.after, to.from)
  }
  const { hiddenBy } = stretch
  const rewind = hiddenBy === undefined ? undefined : context.compaction(hiddenBy)
  const current = siblings.find((one) => one.hiddenBy === undefined)
  return (
    <div class="version-line">
      <fieldset class="versions">
        <legend class="hidden-text">Versions</legend>
        <button
          type="button"
          aria-label="Previous version"
          disabled={index <= 0}
          onClick={() => show(index - 1)}
        >
          ‹
        </button>
        <span class="version-count">
          {index + 1} / {siblings.length}
        </span>
        <button
          type="button"
          aria-label="Next version"
          disabled={index >= siblings.length - 1}
          onClick={() => show(index + 1)}
        >
          ›
        </button>
      </fieldset>
      {rewind === undefined ? (
        <span class="dim">current version</span>
      ) : (
        <>
          <span class="dim">earlier version, not sent to the model:</span>
          <a href={sessionLink(context.sessionId, 'compactions', { compaction: rewind.id })}>
            {hiddenWords(rewind)}
          </a>
          <span class="spring" />
          {current !== undefined && (
            <button type="button" class="link" onClick={() => choose(stretch.after, current.from)}>
              Back to the current one
            </button>
          )}
          <Continue stretch={stretch} current={current} rewindId={rewind.id} sessionId={context.sessionId} />
        </>
      )}
    </div>
  )
}

function Continue({
  stretch,
  current,
  rewindId,
  sessionId,
}: {
  readonly stretch: Stretch
  readonly current: Stretch | undefined
  readonly rewindId: string
  readonly sessionId: string
}) {
  if (!canChange) return null
  return (
    <Menu
      label="Continue from this version"
      items={[
        {
          label: 'In a fork',
          run: () => void fork(sessionId, { afterMessage: stretch.to }),
        },
        current !== undefined && {
          label: 'Here, instead of the current version',
          run: () => void restore(sessionId, rewindId, current.from),
        },
        current !== undefined && {
          label: 'Here, before the current version: the model sees both',
          run: () => void showBoth(sessionId, rewindId),
        },
      ]}
    >
      Continue from this version ▾
    </Menu>
  )
}

/** Hides the current version, then undoes the rewind that hides the other one. */
async function restore(sessionId: string, rewindId: string, currentFrom: number): Promise<void> {
  const agreed = await ask({
    title: 'Continue from this version?',
    body: 'The current version is hidden from the model, and this one is shown again. Both stay stored, and you can undo this.',
    action: 'Continue',
  })
  if (!agreed) return
  await attempt(async () => {
    const rewound = await call('rewind', [sessionId, { from: { beforeMessage: currentFrom } }])
    await call('undoCompaction', [sessionId, rewindId])
    toast({
      text: 'The model sees this version again.',
      ...(rewound.compactionId !== undefined && {
        undo: {
          label: 'Undo',
          run: async () => {
            await call('redoCompaction', [sessionId, rewindId])
            await call('undoCompaction', [sessionId, rewound.compactionId!])
          },
        },
      }),
    })
  })
}

async function showBoth(sessionId: string, rewindId: string): Promise<void> {
  const agreed = await ask({
    title: 'Show both versions to the model?',
    body: 'The model receives this version, and the current one after it. You can undo this.',
    action: 'Show both',
  })
  if (!agreed) return
  await attempt(async () => {
    await call('undoCompaction', [sessionId, rewindId, { both: true }])
    toast({
      text: 'The model sees both versions.',
      undo: { label: 'Undo', run: () => call('redoCompaction', [sessionId, rewindId]) },
    })
  })
}
