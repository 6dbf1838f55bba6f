import { calibratedEstimator } from '../../src/core/tokens/index.ts'
import { addSizes, measureMessage, NO_SIZES } from '../../src/core/tokens/measure.ts'
import { isUndertextError, type Store, type ViewMessage } from '../../src/index.ts'

/* A reader of a session that others change: it notes every view it saw, and what was wrong with what it saw. */

export type Seen = {
  /** How often it looked. */
  readonly looks: number
  /** How often nothing was changed while it looked, so that figures and view can be compared. */
  readonly compared: number
  /** The views in the order they were seen, as `shapeOf` writes them; one that stays is there once. */
  readonly shapes: readonly string[]
  /** The same of what the stored rows say is visible, which is read by several queries. */
  readonly stored: readonly string[]
  /** What no moment of the session can explain. */
  readonly problems: readonly string[]
}

/**
 * A view in short: ranges of positions, `s3` for the third inserted row, `*` where replacements are shown.
 * "1-2 s3 9 10* 11-14": two messages, what compactions put in the place of six, and six more.
 */
export function shapeOf(
  entries: readonly { readonly name: string; readonly position: number | undefined }[],
): string {
  const shape: string[] = []
  for (let at = 0; at < entries.length; ) {
    const { name, position } = entries[at]!
    let end = at + 1
    const goesOn = (): boolean => entries[end]?.name === String(Number(name) + end - at)
    while (position !== undefined && goesOn()) end++
    shape.push(end - at > 1 ? `${name}-${entries[end - 1]!.name}` : name)
    at = end
  }
  return shape.join(' ')
}

export function nameOf({
  id,
  position,
  replacedParts,
}: Pick<ViewMessage, 'id' | 'position' | 'replacedParts'>): string {
  const name = position === undefined ? id.slice(id.lastIndexOf(':') + 1) : String(position)
  return replacedParts === undefined ? name : `${name}*`
}

/** Looks at a session again and again, as long as `goOn` says so. */
export async function watchSession(
  store: Store,
  session: string,
  goOn: () => Promise<boolean>,
): Promise<Seen> {
  const shapes: string[] = []
  const stored: string[] = []
  const problems = new Set<string>()
  let [looks, compared, version, viewEpoch] = [0, 0, 0, 0]
  // One more look when it is told to stop: that one sees the end.
  for (let isLast = false; !isLast; ) {
    isLast = !(await goOn())
    looks += 1
    try {
      const before = await store.sessions.get(session)
      const view = await store.getEffectiveHistory(session, { provenance: true })
      const stats = await store.getContextStats(session)
      const after = await store.sessions.get(session)
      if (before.version < version || after.version < before.version) problems.add('the version went back')
      if (before.viewEpoch < viewEpoch || after.viewEpoch < before.viewEpoch)
        problems.add('the view epoch went back')
      version = after.version
      viewEpoch = after.viewEpoch
      const shape = shapeOf(view.map((message) => ({ name: nameOf(message), position: message.position })))
      if (shape !== shapes.at(-1)) shapes.push(shape)
      const rows = (await store.getMessages(session)).filter(({ hidden }) => !hidden)
      const rowsShape = shapeOf(rows.map((row) => ({ name: nameOf(row), position: row.position })))
      if (rowsShape !== stored.at(-1)) stored.push(rowsShape)
      for (const problem of problemsOf(view)) problems.add(`${problem}: ${shape}`)
      if (before.version !== after.version) continue
      compared += 1
      const sizes = view.reduce(
        (sum, message) => addSizes(sum, measureMessage(message, calibratedEstimator)),
        NO_SIZES,
      )
      const kept = [before.visibleCount, before.visibleSizes, stats!.messageCount, stats!.sizes]
      if (JSON.stringify(kept) !== JSON.stringify([view.length, sizes, view.length, sizes]))
        problems.add(
          `figures ${JSON.stringify(kept)}, view ${view.length} ${JSON.stringify(sizes)}: ${shape}`,
        )
    } catch (error) {
      problems.add(isUndertextError(error) ? error.code : String(error))
    }
  }
  return { looks, compared, shapes, stored, problems: [...problems] }
}

/** What must hold in any view by itself: no call without its result, and no message in it twice or not at all. */
function problemsOf(view: readonly ViewMessage[]): string[] {
  const problems: string[] = []
  view.forEach(({ content }, at) => {
    if (typeof content === 'string') return
    const neighbour = (type: string): boolean => {
      const other = view[type === 'tool-call' ? at + 1 : at - 1]?.content
      const wanted = type === 'tool-call' ? 'tool-result' : 'tool-call'
      return typeof other === 'object' && other.some((part) => part.type === wanted)
    }
    for (const { type } of content)
      if ((type === 'tool-call' || type === 'tool-result') && !neighbour(type)) problems.push('a parted pair')
  })
  const standing = view.flatMap(({ positions }) => positions ?? [])
  let next = 1
  for (const [from, to] of [...standing].sort((a, b) => a[0] - b[0])) {
    if (from !== next) problems.push(`position ${next} stands ${from < next ? 'twice' : 'nowhere'}`)
    next = to + 1
  }
  return [...new Set(problems)]
}
