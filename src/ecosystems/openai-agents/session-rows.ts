import type { Message, StoredMessage, ViewMessage } from '../../messages/message.ts'
import { type RenderOptions, renderView } from '../../rendering/render.ts'
import type { ConversionOptions } from '../conversion.ts'
import type { AgentItem } from './item-types.ts'
import { toItemsOfEach } from './to-items.ts'

/** A row of a view and the items it is shown as: one for what was added as an item, more or none for messages of others. */
export type ShownRow = { readonly row: ViewMessage; readonly shown: readonly AgentItem[] }

/** How rows that a compaction inserted are shown. */
type InsertedManner = Pick<RenderOptions, 'summaryRole' | 'summaryHeader' | 'preset'>

/** The rows of a view with the items they are shown as. */
export function shownRows(
  view: readonly ViewMessage[],
  manner: InsertedManner,
  options: ConversionOptions,
): ShownRow[] {
  const messages = view.map((row) => shownMessages(row, manner))
  const items = toItemsOfEach(messages.flat(), options)
  let next = 0
  return view.map((row, i) => {
    const from = next
    next += messages[i]!.length
    return { row, shown: items.slice(from, next).flat() }
  })
}

/** What a row says to a model. Parts that are shown as nothing say nothing; a row of them alone is none. */
function shownMessages(row: ViewMessage, manner: InsertedManner): readonly Message[] {
  if (row.kind !== 'message') return renderView([row], { ...manner, provider: 'openai' }).messages
  const { replacedParts, content } = row
  if (replacedParts === undefined || typeof content === 'string') return [row]
  const left = content.filter(
    (part, i) =>
      !((part.type === 'text' || part.type === 'reasoning') && part.text === '' && replacedParts.includes(i)),
  )
  return left.length === 0 ? [] : [{ ...row, content: left }]
}

/** Thrown where rows are needed as they were said, and are known only as they are shown. */
export class OriginalsNeeded extends Error {
  readonly rows: readonly ViewMessage[]

  constructor(rows: readonly ViewMessage[]) {
    super('originals of replaced rows are needed')
    this.rows = rows
  }
}

/** Rows as they were said, by id: contents never change, so one look is enough. */
export type Originals = ReadonlyMap<string, StoredMessage>

/** The row as it was said. Throws `OriginalsNeeded`, naming it and all of the rows behind it that are shown differently. */
export function saidAt(rows: readonly ShownRow[], index: number, originals: Originals): Message {
  const { row } = rows[index]!
  if (row.replacedParts === undefined || row.kind !== 'message') return row
  const original = originals.get(row.id)
  if (original !== undefined) return original
  throw new OriginalsNeeded(
    rows
      .slice(index)
      .flatMap(({ row: { id }, row: other }) =>
        other.replacedParts !== undefined && other.kind === 'message' && !originals.has(id) ? [other] : [],
      ),
  )
}

/** The items of a row as they were added, previews and placeholders aside; none where none are shown. */
export function itemsSaidAt(
  rows: readonly ShownRow[],
  index: number,
  originals: Originals,
): readonly AgentItem[] {
  const { row, shown } = rows[index]!
  const said = shown.length === 0 ? row : saidAt(rows, index, originals)
  // A row that is shown as it was said keeps what its neighbours say about it (the name of a tool).
  return said === row ? shown : toItemsOfEach([said], {}).flat()
}
