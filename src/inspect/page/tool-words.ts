import { isObject, stringifyJson } from '../../core/messages/json.ts'
import type { ToolResultOutput } from '../../core/messages/message.ts'

/* What a tool call is about, in one line, and how much of its output is shown at first. */

const MAIN = [
  ...[
    'command',
    'cmd',
    'file_path',
    'filePath',
    'path',
    'notebook_path',
    'target_file',
    'filename',
    'url',
    'uri',
  ],
  ...['query', 'pattern', 'q', 'expression', 'code', 'sql', 'description', 'prompt', 'name', 'id'],
]
const MAX_LENGTH = 300

/** Returns the argument that says what a call does: a command, a path, a query, or else its first text. */
export function mainArgument(input: unknown): string {
  if (typeof input === 'string') return oneLine(input)
  if (!isObject(input)) return ''
  for (const name of MAIN) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined
    if (typeof value === 'string' && value.trim() !== '') return oneLine(value)
    if (isTexts(value))
      return oneLine(value.at(-2) === '-lc' || value.at(-2) === '-c' ? value.at(-1)! : value.join(' '))
  }
  const first = Object.values(input).find((value) => typeof value === 'string' || typeof value === 'number')
  return first === undefined ? '' : oneLine(String(first))
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * MAX_LENGTH)
    .trim()
    .replace(/\s+/g, ' ')
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}

/** Returns whether the arguments say more than their main one. */
export function hasMoreArguments(input: unknown): boolean {
  if (typeof input === 'string') return oneLine(input) !== input.trim()
  if (!isObject(input)) return input !== null && input !== undefined
  const values = Object.values(input)
  if (values.length !== 1) return values.length > 1
  const [only] = values
  return typeof only !== 'string' || oneLine(only) !== only.trim()
}

/** Returns a value as indented JSON. */
export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2) ?? String(value)

/** The beginning of a text: whole lines, within a number of lines and characters. */
export function beginningOf(text: string, maxLines: number, maxLength: number): string {
  let end = -1
  for (let line = 0; line < maxLines; line++) {
    const next = text.indexOf('\n', end + 1)
    if (next === -1) {
      end = text.length
      break
    }
    end = next
  }
  if (end <= maxLength) return text.slice(0, end)
  const cut = text.slice(0, maxLength)
  const last = cut.lastIndexOf('\n')
  return last > maxLength / 2 ? cut.slice(0, last) : cut.replace(/[\uD800-\uDBFF]$/, '')
}

export function lineCount(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return text.endsWith('\n') ? count - 1 : count
}

/** Returns the length of what is stored of an output, in UTF-16 units; images and files count as nothing. */
export function outputLength(output: ToolResultOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value.length
    case 'content':
      return output.value.reduce((sum, item) => sum + (item.type === 'text' ? item.text.length : 0), 0)
    default:
      return stringifyJson(output.value).length
  }
}
