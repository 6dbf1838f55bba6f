import { detached, headOf } from '../../messages/characters.ts'
import { isObject, type Json } from '../../messages/json.ts'
import { oneLine, shorten } from '../text.ts'

/*
 * Records: data and tables as rows whose values have labels.
 */

/** The maximum units of a result that is parsed as data, the texts in it that are visited, the rows that are kept, the length of a row and of a value. */
export const DATA_UNITS = 20_000
const MAX_TEXTS = 600
const MAX_ROWS = 200
const ROW_UNITS = 140
const VALUE_UNITS = 60

/** Whether a text is one word with a digit: an id, an amount, a date. */
export function isValue(text: string): boolean {
  return text.length <= VALUE_UNITS && /^\S*\d\S*$/.test(text)
}

/**
 * The scalar fields of each object in a value as a line, or several short ones: `id: 4471, status: open`. An inner object has before them
 * the first value with a digit of the list's item that it is part of, and its field: `id: 4471, prices: basic: 54`.
 */
export function rowsOf(data: Json): string[] {
  const rows: string[] = []
  const walk = (value: Json, depth: number, item: string, field: string, isItem: boolean): void => {
    if (rows.length >= MAX_ROWS || depth > 8) return
    const inner: (readonly [string, Json])[] = []
    const fields = rowOf(fieldsOf(value).filter((entry) => isScalar(entry[1]) || !inner.push(entry)))
    for (const row of fields.rows) rows.push(detached(item + field + row))
    const owner = isItem && fields.id !== '' ? `${fields.id}, ` : item
    for (const [key, one] of inner) {
      const label = isObject(one) && key !== '' ? `${headOf(key, 40)}: ` : ''
      walk(one, depth + 1, owner, label, Array.isArray(value))
    }
  }
  walk(data, 0, '', '', false)
  return rows
}

/** Fields as one line, or several short ones, and the first of them with a digit. */
function rowOf(fields: readonly (readonly [string, Json])[]): {
  readonly rows: string[]
  readonly id: string
} {
  const rows: string[] = []
  let id = ''
  for (const [field, one] of fields) {
    const text = one === null || typeof one === 'boolean' ? '' : oneLine(String(one))
    if (text === '' || text.length > VALUE_UNITS) continue
    const shown = field === '' ? text : `${headOf(field, 40)}: ${text}`
    if (id === '' && isValue(text)) id = shown
    const last = rows.at(-1)
    if (last === undefined || last.length + shown.length > ROW_UNITS) rows.push(shown)
    else rows[rows.length - 1] = `${last}, ${shown}`
  }
  return { rows, id }
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

/** The fields of an object, and the items of a list without names. */
function fieldsOf(value: Json): (readonly [string, Json])[] {
  if (Array.isArray(value)) return (value as readonly Json[]).slice(0, MAX_ROWS).map((item) => ['', item])
  return isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined)
    : []
}

/** Visits the texts and numbers in a value with the names of their fields; at most 600 of them. */
export function eachText(data: Json | undefined, visit: (text: string, field: string) => void): void {
  let left = MAX_TEXTS
  const walk = (value: Json | undefined, field: string, depth: number): void => {
    if (left <= 0 || depth > 8) return
    if (typeof value === 'string' || typeof value === 'number') {
      left -= 1
      visit(String(value), field)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value))
        walk(inner, Array.isArray(value) ? field : key, depth + 1)
  }
  walk(data, '', 0)
}

/** The line below the header of a table in Markdown. */
const RULE = /^(?=[^|]{0,200}\|)[ \t|:-]*-[ \t|:-]*$/
/** The rows of the tables in Markdown in a text: `plan: Pro, price: $20`. */
export function tableRows(text: string): string[] {
  const rows: string[] = []
  const lines = text.trim().split('\n')
  let labels: readonly string[] | undefined
  for (const [i, line] of lines.entries()) {
    if (!line.includes('|')) labels = undefined
    else if (RULE.test(line)) labels = cellsOf(lines[i - 1] ?? '')
    else if (labels !== undefined) for (const row of labelled(labels, cellsOf(line))) rows.push(row)
  }
  return rows.slice(0, MAX_ROWS)
}

function cellsOf(line: string): string[] {
  const cells = headOf(line, 2_000)
    .split('|')
    .map((cell) => cell.replaceAll(/\*\*|`/g, '').trim())
  return /^\s*\|/.test(line) ? cells.slice(1, -1) : cells
}

function labelled(labels: readonly string[], cells: readonly string[]): string[] {
  const fields = cells.map((cell, i) => [labels[i] ?? '', shorten(cell, VALUE_UNITS)] as const)
  return fields.filter(([, cell]) => cell !== '').length < 2 ? [] : rowOf(fields).rows.map(detached)
}

/** Whether a text names a value of a row, a number or a word with a capital or digit, but not all of them. */
export function citesRow(text: string, row: string): boolean {
  let isCited = false
  let hasMore = false
  for (const pair of row.split(', ')) {
    const value = pair.slice(pair.lastIndexOf(': ') + 1).trim()
    const at = text.indexOf(value)
    const isNamed = at >= 0 && !/[\p{L}\d]/u.test((text[at - 1] ?? '') + (text[at + value.length] ?? ''))
    if (!isNamed) hasMore = true
    else if (value.length >= 3 && /\d|\p{Lu}/u.test(value)) isCited = true
  }
  return isCited && hasMore
}
