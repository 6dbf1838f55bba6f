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
import { invalid, UndertextError } from '../errors.ts'
import { codePointStart } from '../messages/characters.ts'
import { check, isStorableText } from '../messages/check.ts'
import { cutOutput, outputLimitsSchema, withNotice } from './tool-output/cut-output.ts'

/** How much of an output is encoded and written at once, UTF-16 units. */
const STEP = 1_048_576
/** Nobody but the owner enters a folder made here, or reads a file in it. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** Bits of a mode that let others in. */
const OTHERS = 0o077

/**
 * Writes an output to a new file and gives its path. The name is random, the file the owner's alone, and no link
 * is followed. What cannot be encoded (lone surrogates) is written as U+FFFD.
 *
 * The folder is `saveDir`, made with its parents when it is missing, otherwise used as it is; or a private one
 * under the system's temporary folder, which must be this user's and closed to others.
 *
 * Throws `OUTPUT_NOT_SAVED`; then there is no file, not even a part of one.
 */
function saveOutput(output: string, originalSize: number, saveDir?: string): string {
  try {
    const folder = saveDir === undefined ? privateFolder() : givenFolder(saveDir)
    return writeNew(join(folder, `${randomUUID()}.txt`), output)
  } catch (error) {
    throw new UndertextError('OUTPUT_NOT_SAVED', { reason: reasonOf(error), originalSize }, { cause: error })
  }
}

/** A folder that is not what it must be. */
class UnsafeFolder extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

function reasonOf(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' ? code : 'UNKNOWN'
}

/** Where outputs go by default: one folder a user, so that they can be found and cleared. */
function privateFolder(): string {
  const uid = process.getuid?.()
  const folder = join(tmpdir(), `undertext-tool-output${uid === undefined ? '' : `-${uid}`}`)
  makeFolder(folder)
  const found = folderAt(folder)
  // Anybody may have made a folder of this name first, to read along or to exchange files.
  if (uid !== undefined && found.uid !== uid) throw new UnsafeFolder('NOT_OWNED')
  if (uid !== undefined && (found.mode & OTHERS) !== 0) throw new UnsafeFolder('NOT_PRIVATE')
  return folder
}

function givenFolder(saveDir: string): string {
  const folder = resolve(saveDir)
  const missing: string[] = []
  for (let at = folder; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  // Not `recursive`, with which Node 20 never comes back where a parent takes no folders, as /proc does not.
  for (const path of missing.reverse()) makeFolder(path)
  folderAt(folder)
  return folder
}

/** Makes a folder for its owner alone, unless something of its name is there. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    if (reasonOf(error) !== 'EEXIST') throw error
  }
}

/** What stands at a path, when it is a folder and not a link to one. */
function folderAt(path: string): { readonly uid: number; readonly mode: number } {
  const found = lstatSync(path)
  if (found.isSymbolicLink()) throw new UnsafeFolder('SYMLINK')
  if (!found.isDirectory()) throw new UnsafeFolder('ENOTDIR')
  return found
}

function writeNew(path: string, output: string): string {
  // O_EXCL makes the file or fails, also where a link stands, to whatever it leads.
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
    /** Whether the full output is written to a file when it is cut. Default false. */
    saveToDisk: z.boolean().optional(),
    /** The folder of that file, made when it is missing. Default a private one under the temporary folder. */
    saveDir: z.string().min(1).refine(isStorableText, 'must be a path').optional(),
  })
  .optional()
/** Limits of `truncateToolOutput`. */
export type TruncateOptions = z.input<typeof optionsSchema>

/** A tool output within its limits. */
export type TruncateResult = {
  /** What is kept, with the notice; the output itself when nothing was cut. */
  readonly content: string
  readonly truncated: boolean
  /** Where the full output is, when it was cut and saved. */
  readonly savedPath?: string
  /** Bytes of the output, UTF-8. */
  readonly originalSize: number
}

/**
 * One end of a tool output that exceeds a limit of bytes or lines, with a notice behind it (head) or in front of
 * it (tail); an output within both limits as it is. At most `maxBytes` bytes of it are kept, the notice not
 * counted, and no character is cut in two.
 *
 * With `saveToDisk` a cut output is first written in full to a new file that only this user can read. When
 * that fails nothing is returned, so that the output is not lost: cut it without saving, or elsewhere.
 *
 * Throws `INVALID_INPUT` and `OUTPUT_NOT_SAVED`. Source: seed 003, checklist S3-282 to S3-296, C-14.
 */
export function truncateToolOutput(output: string, options?: TruncateOptions): TruncateResult {
  if (typeof output !== 'string') throw invalid('truncateToolOutput: output must be a text')
  const { saveToDisk, saveDir, ...limits } = check(optionsSchema, options, 'truncateToolOutput') ?? {}
  const cut = cutOutput(output, limits)
  const { truncated, originalSize } = cut
  if (!truncated) return { content: output, truncated, originalSize }
  const savedPath = saveToDisk === true ? saveOutput(output, originalSize, saveDir) : undefined
  const content = withNotice(cut, limits.direction, savedPath)
  return { content, truncated, originalSize, ...(savedPath !== undefined && { savedPath }) }
}
