import type { RooMessage } from './roo-data.ts'

/** A summary or a marker of Roo Code's, which owns the tags that name it. */
export type Owner = { readonly kind: 'condense' | 'truncate'; readonly id: string }

/**
 * The owners of all tags, each behind those whose summary or marker it hides; summaries before truncations, since
 * Roo Code's truncations tag what a summary had hidden already.
 */
export function ownersInOrder(messages: readonly RooMessage[]): Owner[] {
  const owners = new Map<string, Owner>()
  const add = (kind: Owner['kind'], id: string | undefined): void => {
    if (id !== undefined) owners.set(`${kind} ${id}`, { kind, id })
  }
  for (const { condenseId, condenseParent } of messages)
    for (const id of [condenseParent, condenseId]) add('condense', id)
  for (const { truncationId, truncationParent } of messages)
    for (const id of [truncationParent, truncationId]) add('truncate', id)

  const ordered: Owner[] = []
  const visited = new Set<Owner>()
  const visit = (owner: Owner): void => {
    if (visited.has(owner)) return
    visited.add(owner)
    for (const other of owners.values())
      if (messages.some((message) => owns(message, other) && isOwnedBy(message, owner))) visit(other)
    ordered.push(owner)
  }
  for (const owner of owners.values()) visit(owner)
  return ordered
}

/** Whether a message is a summary or a marker: in our store a row that a compaction inserts. */
export function isInserted({ isSummary, isTruncationMarker }: RooMessage): boolean {
  return isSummary === true || isTruncationMarker === true
}

/** Whether a message is the summary or the marker of an owner. */
export function owns(message: RooMessage, { kind, id }: Owner): boolean {
  return (kind === 'condense' ? message.condenseId : message.truncationId) === id
}

/** Whether a message has an id that tags can name. */
export function isOwner({ condenseId, truncationId }: RooMessage): boolean {
  return (condenseId ?? truncationId) !== undefined
}

/** Whether a message carries the tag of an owner. */
export function isOwnedBy(
  message: Pick<RooMessage, 'condenseParent' | 'truncationParent'>,
  { kind, id }: Owner,
): boolean {
  return (kind === 'condense' ? message.condenseParent : message.truncationParent) === id
}

/** Whether a message carries a tag whose owner is among the messages: then Roo Code hides it. */
export function isHidden(message: RooMessage, messages: readonly RooMessage[]): boolean {
  return messages.some(
    ({ condenseId, truncationId }) =>
      (condenseId !== undefined && condenseId === message.condenseParent) ||
      (truncationId !== undefined && truncationId === message.truncationParent),
  )
}

/** The text of a message, its blocks under each other. */
export function textOf({ content }: Pick<RooMessage, 'content'>): string {
  if (typeof content === 'string') return content
  return content.map((block) => ('text' in block ? String(block.text) : '')).join('\n')
}
