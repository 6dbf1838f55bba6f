import type { RooElement, RooNote } from './roo-element.ts'

/** What tags of elements cannot mean: owners that are not there, and two on one message. */
export function tagNotes(elements: readonly RooElement[]): RooNote[] {
  const notes: RooNote[] = []
  const note = (index: number, why: string): void => {
    notes.push({ index, kind: 'mended', why })
  }
  const owners = { condenseParent: new Set<string>(), truncationParent: new Set<string>() }
  for (const { kind, id } of elements) {
    if (id === undefined) continue
    if (kind === 'summary') owners.condenseParent.add(id)
    if (kind === 'marker') owners.truncationParent.add(id)
  }
  const missing = new Map<string, { index: number; count: number }>()
  let both: { index: number; count: number } | undefined
  for (const [index, element] of elements.entries()) {
    for (const tag of ['condenseParent', 'truncationParent'] as const) {
      const parent = element[tag]
      if (parent === undefined || owners[tag].has(parent)) continue
      const key = `${tag} ${parent}`
      missing.set(key, { index, ...missing.get(key), count: (missing.get(key)?.count ?? 0) + 1 })
    }
    if (element.condenseParent !== undefined && element.truncationParent !== undefined)
      both = { index, ...both, count: (both?.count ?? 0) + 1 }
  }
  for (const { index, count } of missing.values())
    note(index, `tags of a summary or marker that is not in the file: dropped from ${count}`)
  if (both !== undefined)
    note(both.index, `both a summary's and a marker's tag: what hid it first counts, for ${both.count}`)
  return notes
}
