import type { JsonFields } from '../command.ts'
import { printable } from './print-json.ts'

/** Letters that make a piece. */
const ENOUGH = 65_536

/** An object as `printable` tells it, with a line feed behind it, in pieces. A field whose value is an async iterable is a list. */
export async function* jsonPieces(fields: JsonFields): AsyncGenerator<string> {
  let text = ''
  let isFirst = true
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += `${isFirst ? '{' : ','}\n  ${printable(name)}: `
    isFirst = false
    if (!isAsyncIterable(value)) {
      text += inner(value, '  ')
      continue
    }
    let isEmpty = true
    for await (const item of value) {
      text += `${isEmpty ? '[' : ','}\n    ${inner(item, '    ')}`
      isEmpty = false
      if (text.length < ENOUGH) continue
      yield text
      text = ''
    }
    text += isEmpty ? '[]' : '\n  ]'
  }
  yield `${text}${isFirst ? '{}' : '\n}'}\n`
}

/** A value further in. No line feed stands within the texts of JSON, so each begins a line of its layout. */
function inner(value: unknown, indent: string): string {
  return printable(value).replaceAll('\n', `\n${indent}`)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
