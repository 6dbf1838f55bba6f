import { call, facts } from './api.ts'
import { undo } from './compaction-actions.tsx'
import { counted } from './format.ts'
import { go, sessionLink } from './router.ts'
import { ask, attempt, toast } from './ui.tsx'

/*
 * The changes that the page makes. Each asks once if it hides content or costs money, says what it did, and offers to undo it. Every
 * change is in the audit under the name of the inspector.
 */

/** Whether the page may change anything. */
export const canChange = !facts.readonly

export async function setPin(sessionId: string, ids: readonly string[], pinned: boolean): Promise<void> {
  await attempt(async () => {
    const count = await call(pinned ? 'messages.pin' : 'messages.unpin', [sessionId, ids])
    toast({
      text: `${pinned ? 'Pinned' : 'Unpinned'} ${counted(count, 'message')}.`,
      undo: { label: 'Undo', run: () => setPin(sessionId, ids, !pinned) },
    })
  })
}

export async function hide(sessionId: string, ids: readonly string[]): Promise<void> {
  const agreed = await ask({
    title: `Hide ${counted(ids.length, 'message')} from the model?`,
    body: 'The model no longer receives it. It stays stored, and you can undo this.',
    action: 'Hide',
  })
  if (!agreed) return
  await attempt(async () => {
    const compaction = await call('compactions.hide', [sessionId, ids])
    toast({
      text: `Hid ${counted(compaction.rowsHidden, 'message')}.`,
      undo: { label: 'Undo', run: () => undo(sessionId, compaction.id) },
    })
  })
}

export async function rewindTo(sessionId: string, messageId: string): Promise<void> {
  const agreed = await ask({
    title: 'Rewind the conversation to before this message?',
    body: 'This message and all later ones are hidden from the model. They stay stored, and you can undo this.',
    action: 'Rewind',
  })
  if (!agreed) return
  await attempt(async () => {
    const rewound = await call('rewind', [sessionId, { from: { beforeMessage: messageId } }])
    toast({
      text: `Rewound; ${counted(rewound.rowsHidden, 'message')} hidden.`,
      ...(rewound.compactionId !== undefined && {
        undo: { label: 'Undo', run: () => undo(sessionId, rewound.compactionId!) },
      }),
    })
  })
}

export async function fork(
  sessionId: string,
  at?: { readonly afterMessage: string | number },
): Promise<void> {
  await attempt(async () => {
    const made = await call('sessions.fork', [sessionId, { ...(at && { at }) }])
    toast({ text: 'Forked. This is the new session.' })
    go(sessionLink(made.id))
  })
}

export async function bringBack(forkId: string, parentId: string): Promise<void> {
  const agreed = await ask({
    title: 'Bring the outcome of this fork back?',
    body: 'A summary of the fork is appended to the original session. If the store has a summarizer that calls a model, this costs money.',
    action: 'Bring back',
  })
  if (!agreed) return
  await attempt(async () => {
    const { messageId } = await call('sessions.bringBack', [forkId])
    toast({
      text: 'Appended the outcome to the original session.',
      undo: { label: 'Hide it again', run: () => call('compactions.hide', [parentId, [messageId]]) },
    })
  })
}

export async function rename(sessionId: string, title: string | null, before: string | null): Promise<void> {
  await attempt(async () => {
    await call('sessions.update', [sessionId, { title }])
    toast({ text: 'Renamed.', undo: { label: 'Undo', run: () => rename(sessionId, before, title) } })
  })
}

export async function archive(sessionId: string, archived: boolean): Promise<void> {
  await attempt(async () => {
    await call('sessions.archive', [sessionId, archived])
    // The list follows messages, and this isn't one.
    document.dispatchEvent(new Event('sessionschange'))
    toast({
      text: archived ? 'Archived.' : 'Moved back to the list.',
      undo: { label: 'Undo', run: () => archive(sessionId, !archived) },
    })
  })
}
