import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { invalid, UndertextError } from '../core/errors.ts'
import { cutOutput, outputLimitsSchema, withNotice } from '../core/files/tool-output/cut-output.ts'
import { codePointStart } from '../core/messages/characters.ts'
import { check, isStorableText } from '../core/messages/check.ts'

const STEP = 1_048_576
/** Only the owner can enter a new folder and read a file in it. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** The mode bits that grant access to others, and those that let others remove or replace files. */
const OTHERS = 0o077
const OTHERS_WRITE = 0o022

/**
 * Writes an output to a new file and returns its path. The name is random, only the owner can read the file, and no link is followed. Lone
 * surrogates are written as U+FFFD.
 *
 * The folder is `saveDir`, created with its parents if it is missing, in which only this user may write; or a private one in the system's
 * temporary folder, which others can't even read.
 *
 * Throws `OUTPUT_NOT_SAVED`; then no file is left, not even a part of one.
 */
function saveOutput(output: string, originalSize: number, saveDir?: string): string {
  try {
    const folder = saveDir === undefined ? privateFolder() : givenFolder(saveDir)
    return writeNew(join(folder, `${randomUUID()}.txt`), output)
  } catch (error) {
    throw new UndertextError('OUTPUT_NOT_SAVED', { reason: reasonOf(error), originalSize }, { cause: error })
  }
}

function unsafeFolder(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function reasonOf(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' ? code : 'UNKNOWN'
}

/** Returns the default folder: one per user, so that outputs can be found and cleared. */
function privateFolder(): string {
  const uid = process.getuid?.()
  const folder = join(tmpdir(), `undertext-tool-output${uid === undefined ? '' : `-${uid}`}`)
  makeFolder(folder)
  refuseUnsafe(folder, OTHERS)
  return folder
}

/** Another user who can write in a folder, or who created it first, can read or exchange files. */
function refuseUnsafe(folder: string, forbidden: number): void {
  const found = folderAt(folder)
  const uid = process.getuid?.()
  if (uid === undefined) return
  if (found.uid !== uid) throw unsafeFolder('NOT_OWNED')
  if ((found.mode & forbidden) !== 0) throw unsafeFolder('NOT_PRIVATE')
}

function givenFolder(saveDir: string): string {
  const folder = resolve(saveDir)
  const missing: string[] = []
  for (let at = folder; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  // Not `recursive`: with it Node 20 never returns if a parent accepts no folders, as in /proc.
  for (const path of missing.reverse()) makeFolder(path)
  refuseUnsafe(folder, OTHERS_WRITE)
  return folder
}

/** Creates a folder for its owner alone, unless the name exists. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    if (reasonOf(error) !== 'EEXIST') throw error
  }
}

/** Returns the status of a path, if it is a folder and not a link to one. */
function folderAt(path: string): { readonly uid: number; readonly mode: number } {
  const found = lstatSync(path)
  if (found.isSymbolicLink()) throw unsafeFolder('SYMLINK')
  if (!found.isDirectory()) throw unsafeFolder('ENOTDIR')
  return found
}

function writeNew(path: string, output: string): string {
  // O_EXCL creates the file or fails, even if the name is a link.
  const file = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, FILE_MODE)
  try {
    try {
      writeAll(file, output)
    } finally {
      closeSync(file)
    }
    return path
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}

function writeAll(file: number, output: string): void {
  let at = 0
  while (at < output.length) {
    const next = codePointStart(output, Math.min(output.length, at + STEP))
    writeFileSync(file, output.slice(at, next))
    at = next
  }
}

const optionsSchema = outputLimitsSchema
  .extend({
    /** Whether the full output is written to a file if it is cut. Default false. */
    saveToDisk: z.boolean().optional(),
    /** The folder of that file, created if it is missing. Default: a private one in the temporary folder. */
    saveDir: z.string().min(1).refine(isStorableText, 'must be a path').optional(),
  })
  .optional()
/** Options of `truncateToolOutput`. */
export type TruncateOptions = z.input<typeof optionsSchema>

/** A tool output within its limits. */
export type TruncateResult = {
  /** The kept text with the notice; the output itself if it wasn't cut. */
  readonly content: string
  readonly truncated: boolean
  /** The path of the full output, if it was cut and saved. */
  readonly savedPath?: string
  /** Size of the output in bytes, as UTF-8. */
  readonly originalSize: number
}

/**
 * Truncates a tool output that exceeds a limit of bytes or lines: returns one end of it, with a notice after the head or before the tail.
 * An output within both limits is returned unchanged. At most `maxBytes` bytes are kept, not counting the notice, and characters stay
 * whole.
 *
 * With `saveToDisk`, a cut output is first written in full to a new file that only this user can read. If that fails, `OUTPUT_NOT_SAVED` is
 * thrown and nothing is returned, so that the output isn't lost: truncate it without saving, or save it elsewhere.
 *
 * Throws `INVALID_INPUT` and `OUTPUT_NOT_SAVED`.
 */
export function truncateToolOutput(output: string, options?: TruncateOptions): TruncateResult {
  if (typeof output !== 'string') throw invalid('truncateToolOutput: output must be a string')
  const { saveToDisk, saveDir, ...limits } = check(optionsSchema, options, 'truncateToolOutput') ?? {}
  const cut = cutOutput(output, limits)
  const { truncated, originalSize } = cut
  if (!truncated) return { content: output, truncated, originalSize }
  const savedPath = saveToDisk === true ? saveOutput(output, originalSize, saveDir) : undefined
  const content = withNotice(cut, limits.direction, savedPath)
  return { content, truncated, originalSize, ...(savedPath !== undefined && { savedPath }) }
}
