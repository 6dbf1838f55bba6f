import type { Json } from './json.ts'

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

/** Tools that create, change, move or remove a file. Compared like `READ_TOOLS`. */
const WRITE_TOOLS: readonly string[] = [
  'write',
  'write_file',
  'write_to_file',
  'write_text_file',
  'file_write',
  'save_file',
  'put_file',
  'create_file',
  'create_or_update_file',
  'edit',
  'edit_file',
  'file_edit',
  'multi_edit',
  'multi_edit_file',
  'notebook_edit',
  'text_editor',
  'replace',
  'replace_in_file',
  'replace_file_content',
  'str_replace',
  'file_editor',
  'str_replace_editor',
  'str_replace_based_edit_tool',
  'search_replace',
  'search_and_replace',
  'insert_content',
  'insert_edit_into_file',
  'append_file',
  'append_to_file',
  'patch',
  'apply_patch',
  'apply_diff',
  'update_file',
  'delete',
  'delete_file',
  'remove_file',
  'move',
  'move_file',
  'rename_file',
  'copy_file',
]

/** Tools that return names of files or places in files, not their content. Compared like `READ_TOOLS`. */
const LISTING_TOOLS: readonly string[] = [
  'ls',
  'list',
  'list_files',
  'list_dir',
  'list_directory',
  'list_allowed_directories',
  'directory_tree',
  'tree',
  'glob',
  'glob_files',
  'find',
  'find_files',
  'file_search',
  'search_files',
  'search_file_content',
  'codebase_search',
  'grep',
  'grep_search',
  'rg',
]

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
export function isWriteTool(name: string, writeTools: readonly string[] = WRITE_TOOLS): boolean {
  return isNamed(name, writeTools)
}

/** Returns whether a tool with this name lists files or searches them. */
export function isListingTool(name: string, listingTools: readonly string[] = LISTING_TOOLS): boolean {
  return isNamed(name, listingTools)
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

/** Returns the effect of a call on files, by the name of its tool and, for an editor, its command. */
export function effectOf(name: string, input: Json, { readTools, writeTools }: ToolNames = {}): Effect {
  if (isWriteTool(name, writeTools)) return VIEW_COMMANDS.has(commandOf(input)) ? 'read' : 'write'
  return isReadTool(name, readTools) ? 'read' : 'other'
}

function commandOf(input: Json): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, 'command')) return undefined
  return (input as { readonly command?: unknown }).command
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

function isNamed(name: string, names: readonly string[]): boolean {
  const ranks = ranksOf(names)
  return ranks.has(keyOf(name)) || ranks.has(keyOf(withoutServer(name)))
}

/** Normalizes a name: `readFile`, `read_file` and `read-file` are equal. Cached, because the same names occur in every append. */
function keyOf(name: string): string {
  const known = keys.get(name)
  if (known !== undefined) return known
  const key = name.toLowerCase().replaceAll(/[_-]/g, '')
  // Bounded: a conversation may contain any number of invented names.
  if (keys.size >= MAX_KEYS) keys.clear()
  keys.set(name, key)
  return key
}

const MAX_KEYS = 1_000
const keys = new Map<string, string>()

/** Returns a tool's name without the prefix of its server: `mcp__files__read_file`, `files.read_file`, `files/read_file`. */
function withoutServer(name: string): string {
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
