import { detached, headOf } from '../../messages/characters.ts'
import { isObject, type Json, parsedJson } from '../../messages/json.ts'
import { type Call, outputHead } from '../calls.ts'
import { cleanLine, shorten } from '../text.ts'
import { excerptOf } from './lines.ts'
import { DATA_UNITS } from './records.ts'

/*
 * The contents of calls: lines of what they wrote and read, and what a file is about.
 */

/** The units of a result or a written text that are read for an excerpt, and the maximum numbers of excerpts and of their lines. */
export const EXCERPT_UNITS = 16_000
export const MAX_EXCERPTS = 300
export const MAX_QUOTABLE = 600

/** The maximum units of a file's description. */
const ABOUT_UNITS = 100

/** The lines in the texts of several lines among the arguments whose names match. */
export function linesIn(input: Json, names: RegExp): string[] {
  if (!isObject(input)) return []
  return Object.entries(input).flatMap(([name, text]) =>
    typeof text === 'string' && names.test(name) && text.includes('\n')
      ? excerptOf(addedIn(headOf(text, EXCERPT_UNITS)))
      : [],
  )
}

export function isPatch(text: string): boolean {
  return /^(?:@@|\*\*\* |\+\+\+ )/m.test(text)
}

/** The lines that a patch adds; a text that isn't a patch as it is. */
export function addedIn(text: string): string {
  if (!isPatch(text)) return text
  const added = text.split('\n').filter((line) => /^\+(?!\+\+ )/.test(line))
  return added.map((line) => line.slice(1)).join('\n')
}

/** A result as data, if it is data. */
export function dataOf({ result }: Call): Json | undefined {
  const { output } = result!
  if ((output.type === 'json' || output.type === 'error-json') && typeof output.value !== 'string')
    return output.value
  const text = outputHead(output, DATA_UNITS + 1)
  return text.length <= DATA_UNITS && /^\s*[[{]/.test(text) ? parsedJson(text) : undefined
}

/** The text of a call that writes a file as a whole; `undefined` for an edit. */
export function writtenText(name: string, input: Json): string | undefined {
  if (!isObject(input)) return undefined
  const text = Object.entries(input).find(([name]) =>
    /^(?:(?:code)?_?contents?|file_?text)$/i.test(name),
  )?.[1]
  if (/create/i.test(name) || input.command === 'create') return typeof text === 'string' ? text : ''
  return typeof text === 'string' && !/edit|replace|insert|append|patch|diff/i.test(name) ? text : undefined
}

const COMMENT =
  /^\s*(?:\/\*\*?|\*(?!\/)|\/\/|#+(?!!?\[|(?:include|define|undef|if|ifn?def|elif|else|endif|pragma|import|region)\b)|--|"""|<!--)/

/** The first comment line or heading of a file. */
export function aboutOf(code: string): string {
  for (const line of code.split('\n').slice(0, 8)) {
    const opening = COMMENT.exec(line)
    if (opening === null) continue
    const text = cleanLine(line.slice(opening[0].length).replace(/(?:\*\/|-->|""")\s*$/, ''))
    if (
      text.length >= 8 &&
      /\p{L}{3}/u.test(text) &&
      !/^!|eslint|copyright|licen[cs]e|@ts-|coding[:=]/i.test(text)
    )
      return quotable(text)
  }
  return ''
}

/** A text as the description of a file. */
export function quotable(text: string): string {
  return detached(shorten(text, ABOUT_UNITS).replaceAll('"', "'"))
}
