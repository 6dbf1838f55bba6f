import { headOf } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import type { Call } from '../calls.ts'
import { oneLine, shorten } from '../text.ts'
import type { Conversation, Writing } from './conversation.ts'

/** A line with a check box in its newest state. */
type Box = {
  readonly text: string
  readonly isDone: boolean
  /** The file that contains it. */
  readonly where?: string
}

const BOX = /^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX~-])\][ \t]+(\S.*)$/gm

/** Units searched for check boxes of one text, and of all texts with boxes; and the maximum number of boxes. */
const BOX_UNITS = 100_000
const ALL_BOX_UNITS = 400_000
const MAX_BOXES = 500

/**
 * The check boxes of messages and of texts that tools wrote, in the order of their list. When a text replaces another, so
 * do its boxes; a repeated box has the newer state.
 */
export function checkBoxes(
  { texts: items, writings: written }: Conversation,
  keyOf: (text: string) => string,
): Box[] {
  const writings: Writing[] = [...written]
  for (const { text, at } of items) if (hasBox(text)) writings.push({ text, old: '', at, isWhole: false })
  writings.sort((a, b) => a.at - b.at)
  let room = ALL_BOX_UNITS
  let first = writings.length
  while (first > 0 && room > 0) room -= writings[--first]!.text.length

  let boxes: { readonly key: string; readonly box: Box }[] = []
  for (const { text, old, where, isWhole } of writings.slice(first)) {
    const gone = new Set([...boxesIn(old), ...boxesIn(text)].map((box) => keyOf(box.text)))
    const place = boxes.findIndex(({ key }) => gone.has(key))
    const isKept = ({ key, box }: (typeof boxes)[number]) =>
      !gone.has(key) && !(isWhole && box.where === where)
    const fresh = new Map<string, { readonly key: string; readonly box: Box }>()
    for (const box of boxesIn(text)) {
      const key = keyOf(box.text)
      fresh.set(key, { key, box: where === undefined ? box : { ...box, where } })
    }
    const before = place < 0 ? boxes : boxes.slice(0, place)
    const after = place < 0 ? [] : boxes.slice(place)
    boxes = [...before.filter(isKept), ...fresh.values(), ...after.filter(isKept)].slice(-MAX_BOXES)
  }
  return boxes.map(({ box }) => box)
}

const NO_WRITINGS: readonly Writing[] = []

/** Names of the arguments for the replaced text and its replacement. */
const REPLACEMENTS = [
  ['oldText', 'newText'],
  ['old_string', 'new_string'],
  ['old_str', 'new_str'],
  ['old_text', 'new_text'],
  ['search', 'replace'],
] as const

/** Texts with boxes that a call wrote. */
export function writingsOf({ input, at, paths, effect, result }: Call): readonly Writing[] {
  if (effect !== 'write' || result?.outcome === 'failed' || !isObject(input)) return NO_WRITINGS
  const where = paths[0] === undefined ? {} : { where: oneLine(paths[0]) }
  for (const [from, to] of REPLACEMENTS) {
    const old = input[from]
    const text = input[to]
    if (typeof old !== 'string' || typeof text !== 'string') continue
    return hasBox(old) || hasBox(text) ? [{ text, old, at, ...where, isWhole: false }] : []
  }
  return Object.values(input).flatMap((text) => {
    return typeof text === 'string' && hasBox(text) ? [{ text, old: '', at, ...where, isWhole: true }] : []
  })
}

function boxesIn(text: string): Box[] {
  return [...headOf(text, BOX_UNITS).matchAll(BOX)].slice(0, MAX_BOXES).map(([, mark, body]) => {
    return { text: shorten(oneLine(headOf(body ?? '', 400)), 160), isDone: mark !== ' ' }
  })
}

function hasBox(text: string): boolean {
  return text.includes('[ ] ') || text.includes('[x] ') || text.includes('[X] ')
}

/** Unchecked boxes: those after the last checked one come first, because lists are worked from the top. */
export function openBoxes(boxes: readonly Box[]): Box[] {
  const reached = boxes.findLastIndex(({ isDone }) => isDone)
  return [...boxes.slice(reached + 1), ...boxes.slice(0, Math.max(0, reached))].filter(
    ({ isDone }) => !isDone,
  )
}
