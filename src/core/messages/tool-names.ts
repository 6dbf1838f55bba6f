import { fieldOf, type Json } from './json.ts'

/**
 * Tools that return the content of a file. Names are compared without case, `_` and `-`, and without a server's prefix:
 * `mcp__files__readFile` equals `read_file`.
 */
export const READ_TOOLS: readonly string[] = [
  'read',
  'read_file',
  'read_files',
  'read_many_files',
  'read_multiple_files',
  'read_text_file',
  'file_read',
  'view',
  'view_file',
  'view_image',
  'cat',
  'open_file',
  'get_file',
  'get_file_contents',
  'notebook_read',
]

/** Tools that create, change, move or remove a file: a verb by itself, a verb with `file`, and editors. Compared like `READ_TOOLS`. */
const WRITE_TOOL =
  /^(?:(?:multi|notebook|file)?edit|(?:file)?write|(?:str|search)?(?:and)?replace|patch|delete|move|(?:text|file|strreplace)editor|strreplacebasededittool|apply(?:patch|diff)|insertcontent|(?:write|save|put|create|createorupdate|(?:multi)?edit|update|delete|remove|move|rename|copy|append|(?:multi)?replace|insertedit)(?:to|in|into)?(?:text)?file(?:content)?)$/

/** Tools that return names of files or places in files, not their content. Compared like `READ_TOOLS`. */
const LISTING_TOOL =
  /^(?:ls|rg|list(?:files|dir(?:ectory)?|alloweddirectories)?|(?:directory)?tree|(?:glob|find)(?:files)?|search(?:files|filecontent)|grep|(?:grep|ripgrep(?:raw)?|globfile|file|codebase|semantic)search)$/

/** Tools that return stored text of a conversation: those of `undertext/recall`. Compared like `READ_TOOLS`. */
export const RECALL_TOOLS = ['search_history', 'read_history', 'open_history', 'history_notes'] as const

/**
 * Tools through which a person answers: the questions of current agents (Claude Code, Codex, Cline, Roo Code, Copilot, Cursor, Gemini
 * CLI, opencode, LangChain) and MCP's elicitation. Compared like `READ_TOOLS`.
 */
export const USER_TOOLS: readonly string[] = [
  'ask',
  'ask_user',
  'ask_human',
  'ask_question',
  'ask_questions',
  'ask_user_question',
  'ask_user_questions',
  'ask_user_input',
  'ask_followup_question',
  'ask_follow_up_question',
  'ask_clarification',
  'ask_for_approval',
  'ask_for_confirmation',
  'plan_mode_respond',
  'question',
  'questions',
  'user_input',
  'get_user_input',
  'request_user_input',
  'request_input',
  'request_approval',
  'request_confirmation',
  'human',
  'human_input',
  'human_feedback',
  'approval',
  'elicit',
  'elicitation',
  'exit_plan_mode',
]

/** Arguments with the path of the file that a tool works on, most specific first. Compared like `READ_TOOLS`. */
export const PATH_ARGUMENTS: readonly string[] = [
  'path',
  'file_path',
  'filename',
  'file_name',
  'file',
  'absolute_path',
  'target_file',
  'relative_path',
  'relative_workspace_path',
  'notebook_path',
  'uri',
  'destination',
  'target',
  'source',
  'paths',
  'file_paths',
  'files',
]

/** Returns whether a tool with this name reads files. */
export function isReadTool(name: string, readTools: readonly string[] = READ_TOOLS): boolean {
  return isNamed(name, readTools)
}

/** Returns whether a tool with this name changes files. */
export function isWriteTool(name: string, writeTools?: readonly string[]): boolean {
  if (writeTools !== undefined) return isNamed(name, writeTools)
  return isOf(name, WRITE_TOOL)
}

/** Returns whether a tool with this name lists files or searches them. */
export function isListingTool(name: string): boolean {
  return isOf(name, LISTING_TOOL)
}

/** Returns whether a person provides the results of a tool with this name. */
export function isUserTool(name: string, userTools: readonly string[] = USER_TOOLS): boolean {
  return isNamed(name, userTools)
}

/** Returns whether a tool with this name returns stored text of a conversation. */
export function isRecallTool(name: string): boolean {
  return isNamed(name, RECALL_TOOLS)
}

/** The effect of a call on files. */
export type Effect = 'read' | 'write' | 'other'

/** Names of tools that read and write files, instead of the default lists. */
export type ToolNames = {
  readonly readTools?: readonly string[]
  readonly writeTools?: readonly string[]
  /** Tools through which a person answers. */
  readonly userTools?: readonly string[]
}

/** Values of `command` with which a multi-command editor only reads. */
const VIEW_COMMANDS: ReadonlySet<unknown> = new Set(['view', 'read', 'show'])

/**
 * Returns the effect of a call on files: by the name of its tool and, for an editor, its command. Unless the application names the tools
 * that write, any call whose arguments have the shape of an edit does.
 */
export function effectOf(name: string, input: Json, { readTools, writeTools }: ToolNames = {}): Effect {
  if (isWriteTool(name, writeTools)) return VIEW_COMMANDS.has(fieldOf(input, 'command')) ? 'read' : 'write'
  if (isReadTool(name, readTools)) return 'read'
  return writeTools === undefined && editedFiles(input).length > 0 ? 'write' : 'other'
}

/** Arguments with the new text of a file or of a part of it. Compared like `READ_TOOLS`. */
const NEW_TEXT =
  /^(?:(?:file|code|new|full)?contents?|filetext|codeedit|new(?:str|string|text|code|source|lines?)|replace(?:ment(?:content|chunks|text|s)?|with)?|edits|changes|diff|patch|hunks)$/
const FILE_ARGUMENTS = PATH_ARGUMENTS.filter((name) => /path|file|uri/.test(name))

/**
 * Returns the files that a call edits by the shape of its arguments: a path beside a new text, at any level (a list of changes in several
 * files), or a patch in any text.
 */
export function editedFiles(input: Json, depth = 0): readonly string[] {
  if (typeof input === 'string') return patchedFiles(input)
  if (typeof input !== 'object' || input === null || depth > 3) return []
  if (!Array.isArray(input)) {
    const isNew = ([name, value]: readonly [string, unknown]): boolean =>
      (typeof value === 'string' || Array.isArray(value)) && NEW_TEXT.test(keyOf(name))
    const paths = pathsArgument(input, FILE_ARGUMENTS).filter((path) =>
      /^[^\n]{0,500}[./\\][^\n]{0,500}$/.test(path),
    )
    if (paths.length > 0 && Object.entries(input).some(isNew)) return paths
  }
  const inner = Object.values(input).slice(0, 60)
  return [...new Set(inner.flatMap((value) => editedFiles(value as Json, depth + 1)))]
}

/** The most units of a text that are searched for patches. */
const PATCH_UNITS = 50_000
/**
 * The lines that name a file in the patches of Codex and of `diff`. In the source of a program, a quote precedes them and `\n` ends
 * them, followed by the mark of a patch's line.
 */
const PATCHED =
  /(?:^|[\n"'`]|\\n)(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |--- [^\n\\]{1,300}(?:\\n|\n)\+\+\+ (?:b\/)?)((?:[^\n\\"'`]|\\(?!n[@+*\s-])){1,500})/g

function patchedFiles(text: string): string[] {
  if (!/\*\*\* \w|n\+\+\+ |\n\+\+\+ /.test(text)) return []
  return [...text.slice(0, PATCH_UNITS).matchAll(PATCHED)]
    .map(([, file = '']) => file.split('\t', 1)[0]!.replaceAll('\\\\', '\\').trim())
    .filter((file) => file !== '' && file !== '/dev/null')
}

/**
 * Returns the path among the arguments of a call, or `undefined`: the first of `pathArguments` with a non-blank text; for a list of
 * paths, the first path.
 */
export function pathArgument(
  input: Json,
  pathArguments: readonly string[] = PATH_ARGUMENTS,
): string | undefined {
  return pathsArgument(input, pathArguments)[0]
}

/** Returns all paths of the argument that `pathArgument` reads: one, those of a list, or none. */
export function pathsArgument(
  input: Json,
  pathArguments: readonly string[] = PATH_ARGUMENTS,
): readonly string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return []
  const ranks = ranksOf(pathArguments)
  let best: readonly string[] = []
  let bestRank = Number.POSITIVE_INFINITY
  for (const [name, value] of Object.entries(input)) {
    const rank = ranks.get(keyOf(name))
    if (rank === undefined || rank >= bestRank) continue
    const paths = textsOf(value)
    if (paths.length === 0) continue
    best = paths
    bestRank = rank
  }
  return best
}

function textsOf(value: Json | undefined): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return values.filter((item): item is string => typeof item === 'string' && item.trim() !== '')
}

function isOf(name: string, names: RegExp): boolean {
  return names.test(keyOf(name)) || names.test(keyOf(bareName(name)))
}

function isNamed(name: string, names: readonly string[]): boolean {
  const ranks = ranksOf(names)
  return ranks.has(keyOf(name)) || ranks.has(keyOf(bareName(name)))
}

/** Normalizes a name: `readFile`, `read_file` and `read-file` are equal. */
function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

/** Returns a tool's name without the prefix of its server and its version: `mcp__files__read_file`, `files.read_file`, `read_file_v2`. */
function bareName(given: string): string {
  const name = given.replace(/_v\d{1,3}$/i, '')
  const underscores = name.lastIndexOf('__')
  const start = underscores < 0 ? 0 : underscores + 2
  return name.slice(Math.max(start, name.lastIndexOf('.') + 1, name.lastIndexOf('/') + 1))
}

const rankMaps = new WeakMap<readonly string[], ReadonlyMap<string, number>>()

/** Returns the index of each name in its list, computed once per list. */
function ranksOf(names: readonly string[]): ReadonlyMap<string, number> {
  const known = rankMaps.get(names)
  if (known !== undefined) return known
  const ranks = new Map<string, number>()
  for (const [rank, name] of names.entries()) {
    if (!ranks.has(keyOf(name))) ranks.set(keyOf(name), rank)
  }
  rankMaps.set(names, ranks)
  return ranks
}
