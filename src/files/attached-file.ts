import { z } from 'zod'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'

/** A file of a request, as text. Further properties are the caller's own and come back as they are. */
export type AttachedFile = { readonly content: string; readonly path?: string | undefined }

const filesSchema = z.array(z.looseObject({ content: z.string(), path: z.string().optional() }))

/** Throws `INVALID_INPUT` when something is not a list of files. */
export function checkFiles(files: unknown, what: string): void {
  check(filesSchema, files, what)
}

/** Longest name of a file that is shown, UTF-16 units. */
const MOST_NAME_UNITS = 300

/**
 * What a file is called where a model or a person reads it: its path on one line, in quotes, with nothing in it
 * that could be taken for the end of the quotes or of a tag; by its number when it has none.
 */
export function fileName(file: Pick<AttachedFile, 'path'>, index: number): string {
  const { path } = file
  if (path === undefined || path === '') return `"file ${index + 1}"`
  const shown = path.length > MOST_NAME_UNITS ? `${headOf(path, MOST_NAME_UNITS)}…` : path
  return JSON.stringify(shown).replaceAll(UNSAFE, escapeUnit)
}

/** Angle brackets, and the line breaks and invisible controls that JSON leaves as they are. */
const UNSAFE = /[<>\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
