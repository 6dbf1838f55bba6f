import { structuredPatch } from 'diff'
import { isObject } from '../../core/messages/json.ts'

/* Edits of files in the arguments of a tool, in the forms of common agents, as lines that were removed, added or kept. */

/** A line of a difference; `gap` stands for lines in between that didn't change, or a header. */
type DiffLine = { readonly kind: 'added' | 'removed' | 'same' | 'gap'; readonly text: string }

/** The change of a file. */
export type FileEdit = {
  readonly path: string | undefined
  readonly lines: readonly DiffLine[]
  readonly added: number
  readonly removed: number
}

/** The longest texts that are compared, in UTF-16 units, and the most edits that a comparison may find before it gives up. */
const MAX_LENGTH = 100_000
const MAX_EDIT_LENGTH = 2_000
const CONTEXT = 3

const BEFORE = ['old_string', 'oldString', 'oldText', 'old_str', 'old_text', 'search', 'SEARCH'] as const
const AFTER = ['new_string', 'newString', 'newText', 'new_str', 'new_text', 'replace', 'REPLACE'] as const
const PATHS = [
  'file_path',
  'filePath',
  'path',
  'filename',
  'file',
  'target_file',
  'relative_workspace_path',
] as const
const PATCHES = ['patch', 'patchText', 'patch_text', 'diff', 'input'] as const
const CONTENTS = ['content', 'contents', 'file_text', 'code_edit'] as const
const WRITES = /write|create|save|overwrite/i

/** Returns the edits that a call makes; none if its arguments aren't those of an edit. */
export function editsOf(toolName: string, input: unknown): readonly FileEdit[] {
  if (typeof input === 'string') return isPatch(input) ? patchEdits(input) : []
  if (!isObject(input)) return []
  const path = textAt(input, PATHS)
  const list = [input.edits, input.changes, input.replacements].find(Array.isArray)
  if (list !== undefined) {
    const edits = list.flatMap((one: unknown) =>
      isObject(one) ? pairEdit(one, textAt(one, PATHS) ?? path) : [],
    )
    if (edits.length > 0) return edits
  }
  const patch = textAt(input, PATCHES) ?? commandPatch(input.command)
  if (patch !== undefined && isPatch(patch)) return patchEdits(patch)
  const pair = pairEdit(input, path)
  if (pair.length > 0) return pair
  const content = textAt(input, CONTENTS)
  return content !== undefined && path !== undefined && WRITES.test(toolName) ? [edit(path, '', content)] : []
}

/** Returns the path of the file that a call is about. */
export const pathIn = (input: unknown): string | undefined =>
  isObject(input) ? textAt(input, PATHS) : undefined

function textAt(value: { readonly [name: string]: unknown }, names: readonly string[]): string | undefined {
  const name = names.find((one) => typeof value[one] === 'string')
  return name === undefined ? undefined : (value[name] as string)
}

/** Codex: `{ command: ['apply_patch', PATCH] }`. */
function commandPatch(command: unknown): string | undefined {
  if (!Array.isArray(command)) return undefined
  return command.find((one): one is string => typeof one === 'string' && isPatch(one))
}

function pairEdit(value: { readonly [name: string]: unknown }, path: string | undefined): FileEdit[] {
  const before = textAt(value, BEFORE)
  const after = textAt(value, AFTER)
  return before === undefined && after === undefined ? [] : [edit(path, before ?? '', after ?? '')]
}

/** Compares two texts by lines. Texts that are too long or too different are shown whole, first the removed one. */
export function edit(path: string | undefined, before: string, after: string): FileEdit {
  const patch =
    before.length + after.length > MAX_LENGTH
      ? undefined
      : structuredPatch('', '', before, after, undefined, undefined, {
          context: CONTEXT,
          maxEditLength: MAX_EDIT_LENGTH,
        })
  const lines =
    patch === undefined
      ? [...linesOf(before, 'removed'), ...linesOf(after, 'added')]
      : patch.hunks.flatMap(({ lines: hunk }, index) => [
          ...(index > 0 ? [{ kind: 'gap' as const, text: '' }] : []),
          ...hunk.flatMap(signed),
        ])
  return counted(path, lines)
}

function linesOf(text: string, kind: 'added' | 'removed'): DiffLine[] {
  const lines = text.replace(/\n$/, '').split('\n')
  return text === '' ? [] : lines.map((line) => ({ kind, text: line }))
}

function signed(line: string): DiffLine[] {
  const [sign = '', text = ''] = [line[0], line.slice(1)]
  if (sign === '\\') return []
  return [{ kind: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same', text }]
}

function counted(path: string | undefined, lines: readonly DiffLine[]): FileEdit {
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length
  return { path, lines, added: count('added'), removed: count('removed') }
}

/** Whether a text is a patch: a unified one, or one of the tool `apply_patch`. */
function isPatch(text: string): boolean {
  const head = text.slice(0, 2_000)
  return /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )/m.test(head) || /^--- .*\n\+\+\+ /m.test(head)
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/
const MARK = /^\*\*\* (?:Begin Patch|End Patch|End of File|Move to: )/

/** Returns the edits in a patch, as it is written. */
export function patchEdits(patch: string): FileEdit[] {
  const files: { path: string | undefined; lines: DiffLine[] }[] = []
  const lines = patch.slice(0, MAX_LENGTH).replace(/\n$/, '').split('\n')
  for (const [index, line] of lines.entries()) {
    const unified =
      line.startsWith('+++ ') && lines[index - 1]?.startsWith('--- ')
        ? nameIn(line, lines[index - 1]!)
        : undefined
    const named = PATCHED_FILE.exec(line)?.[1] ?? unified
    if (named !== undefined) files.push({ path: named, lines: [] })
    else if (MARK.test(line) || isFileHeader(line, lines[index + 1])) continue
    else files.at(-1)?.lines.push(patchLine(line))
  }
  return files.map(({ path, lines: own }) => counted(path, own))
}

function nameIn(after: string, before: string): string {
  const name = after.startsWith('+++ /dev/null') ? before : after
  return name
    .slice(4)
    .split('\t', 1)[0]!
    .replace(/^[ab]\//, '')
}

function isFileHeader(line: string, next: string | undefined): boolean {
  return (
    (line.startsWith('--- ') && next?.startsWith('+++ ') === true) ||
    /^(?:diff --git|index [0-9a-f]+) ?/.test(line)
  )
}

function patchLine(line: string): DiffLine {
  if (line.startsWith('@@')) return { kind: 'gap', text: line.replace(/^@@ ?/, '').replace(/ ?@@/, '') }
  if (line.startsWith('+')) return { kind: 'added', text: line.slice(1) }
  if (line.startsWith('-')) return { kind: 'removed', text: line.slice(1) }
  return { kind: 'same', text: line.startsWith(' ') ? line.slice(1) : line }
}
