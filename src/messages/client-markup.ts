import { indexOfText } from './characters.ts'

/*
 * What clients write into the messages of a user besides the user's own words: elements with the state of an editor, reminders, commands
 * and their output, notices. It is neither a request nor a rule nor an outcome. Titles, summaries, the ranking of the search, and exports
 * read this one table.
 */

/** One form of a client's markup. */
type Markup = {
  /**
   * `added`: elements that the client added, in any place. `typed`: elements around what the user typed; when a text begins with one, the
   * rest is the client's. `notice`: beginnings of a text that the client wrote as a whole. `reply`: the same, around what the user typed.
   * `line`: whole lines of the client. `rest`: lines from which on a text is the client's.
   */
  readonly as: 'added' | 'typed' | 'notice' | 'reply' | 'line' | 'rest'
  /** A pattern, without anchors: names of elements, or the beginning of texts or lines. */
  readonly pattern: string
  /** Whose it is, and where it can be seen. */
  readonly source: string
}

const CLAUDE_CODE = 'Claude Code, its transcripts (~/.claude/projects)'
const CLINE = 'Cline and Roo Code, src/core/prompts/responses.ts and src/core/task'
const CODEX = 'Codex, codex-rs/core (rollout files)'
const COPILOT = 'Copilot Chat for VS Code, src/extension/prompts/node'
const CURSOR = 'Cursor, exported chats'
const GEMINI = 'Gemini CLI, packages/core'
const OPENCODE = 'opencode, packages/opencode/src/session/prompt'
const AIDER = 'aider, .aider.chat.history.md'

export const CLIENT_MARKUP: readonly Markup[] = [
  { as: 'added', pattern: '\\w{1,30}[-_](?:reminder|notification)', source: CLAUDE_CODE },
  { as: 'added', pattern: 'ide_\\w{1,30}', source: CLAUDE_CODE },
  { as: 'added', pattern: '(?:local-)?command-(?!args$)[a-z]{1,20}', source: CLAUDE_CODE },
  { as: 'added', pattern: 'bash-[a-z]{1,20}|user-memory-input|user-prompt-submit-hook', source: CLAUDE_CODE },
  { as: 'added', pattern: 'environment_details|explicit_instructions|task_progress', source: CLINE },
  {
    as: 'added',
    pattern: '(?:file|folder|url)_content|workspace_diagnostics|git_working_state',
    source: CLINE,
  },
  {
    as: 'added',
    pattern: 'environment_context|user_instructions|turn_aborted|permissions|skill',
    source: CODEX,
  },
  {
    as: 'added',
    pattern: '(?:environment|workspace|repository)_?info|editorcontext|reminderinstructions|attachments?',
    source: COPILOT,
  },
  {
    as: 'added',
    pattern: 'user_info|open_and_recently_viewed_files|additional_data|attached_files',
    source: CURSOR,
  },
  { as: 'added', pattern: 'session_context', source: GEMINI },
  { as: 'typed', pattern: 'command-args', source: CLAUDE_CODE },
  { as: 'typed', pattern: 'task|feedback|user_message|user_feedback|answer', source: CLINE },
  { as: 'typed', pattern: 'user_query', source: CURSOR },
  { as: 'typed', pattern: 'userrequest', source: COPILOT },
  { as: 'notice', pattern: 'Caveat: The messages below', source: CLAUDE_CODE },
  {
    as: 'notice',
    pattern: 'This session is being continued from a previous conversation',
    source: CLAUDE_CODE,
  },
  { as: 'notice', pattern: 'Base directory for this skill: ', source: CLAUDE_CODE },
  {
    as: 'notice',
    pattern: 'Please analyze this codebase and create an? (?:CLAUDE|AGENTS)\\.md file',
    source: `${CLAUDE_CODE}; ${OPENCODE}`,
  },
  {
    as: 'notice',
    pattern: 'Generate a file named AGENTS\\.md that serves as a contributor guide',
    source: CODEX,
  },
  { as: 'notice', pattern: '# AGENTS\\.md instructions for ', source: CODEX },
  { as: 'notice', pattern: '<permissions instructions', source: CODEX },
  { as: 'notice', pattern: 'This is the Gemini CLI\\. We are setting up the context', source: GEMINI },
  { as: 'notice', pattern: '\\[ERROR\\] You did not use a tool', source: CLINE },
  { as: 'reply', pattern: '\\[TASK RESUMPTION\\]', source: CLINE },
  {
    as: 'notice',
    pattern: 'No tool calls found in |There is no code from the last |Here is a demonstration of how to ',
    source: 'SWE-agent, OpenHands and OpenCoder',
  },
  {
    as: 'notice',
    pattern: 'Your last (?:output|response|message) did not (?:contain|include|use)',
    source: 'SWE-agent',
  },
  { as: 'notice', pattern: 'aider chat started at ', source: AIDER },
  { as: 'line', pattern: '\\[Request interrupted by user[^\\]\\n]{0,40}\\]', source: CLAUDE_CODE },
  { as: 'line', pattern: 'No response requested\\.', source: CLAUDE_CODE },
  { as: 'line', pattern: 'Continue from where you left off\\.', source: CLAUDE_CODE },
  {
    as: 'rest',
    pattern:
      '# (?:task_progress (?:RECOMMENDED|List|CREATION)|TODO LIST (?:CREATION|UPDATE|RECOMMENDED)|Current Progress:)',
    source: CLINE,
  },
]

const patternOf = (as: Markup['as']): string =>
  CLIENT_MARKUP.filter((one) => one.as === as)
    .map(({ pattern }) => pattern)
    .join('|')

const ADDED = new RegExp(`^(?:${patternOf('added')})$`)
const TYPED = new RegExp(`^(?:${patternOf('typed')})$`)
const NOTICE = new RegExp(`^(?:${patternOf('notice')})`)
const REPLY = new RegExp(`^(?:${patternOf('reply')})`)
const LINE = new RegExp(`^(?:${patternOf('line')})$`)
const REST = new RegExp(`^(?:${patternOf('rest')})`)
/** Most texts have no such line. */
const ANY_LINE = new RegExp(`(?:${patternOf('line')}|${patternOf('rest')})`)
/** The longest line and the longest beginning that are compared. */
const HEAD_UNITS = 200

const TAG = /<(\/?)([A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,300})?>/g

/** A piece of a text: what the user typed, or what the client added. */
export type Piece = { readonly by: 'user' | 'client'; readonly text: string }

/**
 * The pieces of a text, in order; together they are the text without the tags around typed pieces. An element that is never closed counts
 * when it begins a line: then all that follows is the client's. Takes linear time.
 */
export function piecesOf(text: string): readonly Piece[] {
  const head = headAt(text, firstCharacter(text))
  if (NOTICE.test(head)) return [{ by: 'client', text }]
  if (REPLY.test(head)) return typedIn(text) ?? [{ by: 'client', text }]
  if (!text.includes('<')) return linesIn(text)
  const pieces: Piece[] = []
  let at = 0
  for (const { from, to } of addedIn(text)) {
    for (const piece of spokenIn(text.slice(at, from))) pieces.push(piece)
    pieces.push({ by: 'client', text: text.slice(from, to) })
    at = to
  }
  for (const piece of spokenIn(text.slice(at))) pieces.push(piece)
  return pieces
}

/** What a user typed of a text; empty if nothing was typed. */
export function typedText(text: string): string {
  return wordsOf(text).trim()
}

/** The same with its white space. A text without markup is returned as it is. */
export function wordsOf(text: string): string {
  const pieces = piecesOf(text)
  if (pieces.length === 1 && pieces[0]!.by === 'user') return pieces[0]!.text
  return pieces
    .filter(({ by }) => by === 'user')
    .map((piece) => piece.text)
    .join('\n')
}

function firstCharacter(text: string): number {
  let at = 0
  while (at < text.length && text[at]!.trim() === '') at += 1
  return at
}

function headAt(text: string, at: number): string {
  return text.slice(at, at + HEAD_UNITS)
}

/** The pieces of a text between added elements: typed elements and the rest when it begins with one, else its lines. */
function spokenIn(text: string): readonly Piece[] {
  if (text === '') return []
  const name = /^<([A-Za-z][\w:.-]{0,60})[\s>]/.exec(headAt(text, firstCharacter(text)))?.[1]
  const typed = name !== undefined && TYPED.test(name.toLowerCase()) ? typedIn(text) : undefined
  return typed ?? linesIn(text)
}

/** The typed elements of a text as the user's, all else as the client's; `undefined` without such an element. */
function typedIn(text: string): readonly Piece[] | undefined {
  const pieces: Piece[] = []
  let at = 0
  for (const { 0: tag, 1: slash, 2: name = '', index } of text.matchAll(TAG)) {
    if (index < at || slash !== '' || !TYPED.test(name.toLowerCase())) continue
    if (index > at) pieces.push({ by: 'client', text: text.slice(at, index) })
    const end = indexOfText(text, `</${name}>`, index)
    const to = end === -1 ? text.length : end
    pieces.push({ by: 'user', text: text.slice(index + tag.length, to) })
    at = end === -1 ? to : end + name.length + 3
  }
  if (pieces.length === 0) return undefined
  if (at < text.length) pieces.push({ by: 'client', text: text.slice(at) })
  return pieces
}

/** The lines of a text, those of the client apart. */
function linesIn(text: string): readonly Piece[] {
  if (!ANY_LINE.test(text)) return [{ by: 'user', text }]
  const lines = text.split('\n')
  const pieces: Piece[] = []
  let typed = 0
  const close = (to: number): void => {
    if (to > typed) pieces.push({ by: 'user', text: lines.slice(typed, to).join('\n') })
  }
  for (const [index, line] of lines.entries()) {
    const head = line.length <= HEAD_UNITS ? line.trim() : ''
    const isRest = REST.test(head)
    if (!isRest && !LINE.test(head)) continue
    close(index)
    typed = isRest ? lines.length : index + 1
    pieces.push({ by: 'client', text: lines.slice(index, typed).join('\n') })
    if (isRest) break
  }
  close(lines.length)
  return pieces
}

type Range = { readonly from: number; readonly to: number }

/** The outermost added elements. */
function addedIn(text: string): readonly Range[] {
  const open = new Map<string, number[]>()
  const found: Range[] = []
  for (const { 0: tag, 1: slash, 2: given = '', index } of text.matchAll(TAG)) {
    const name = given.toLowerCase()
    if (!ADDED.test(name)) continue
    const opened = open.get(name)
    if (slash === '') {
      if (opened === undefined) open.set(name, [index])
      else opened.push(index)
      continue
    }
    const from = opened?.pop()
    if (from === undefined) continue
    while (found.length > 0 && found.at(-1)!.from > from) found.pop()
    found.push({ from, to: index + tag.length })
  }
  let cut = Number.POSITIVE_INFINITY
  for (const places of open.values())
    cut = Math.min(cut, places.find((at) => beginsLine(text, at)) ?? Number.POSITIVE_INFINITY)
  // Of a text that was cut within an element, as the head of a file is.
  if (cut === Number.POSITIVE_INFINITY || found.some(({ from, to }) => from < cut && cut < to)) return found
  return [...found.filter(({ to }) => to <= cut), { from: cut, to: text.length }]
}

function beginsLine(text: string, at: number): boolean {
  return /(?:^|\n)[ \t]{0,20}$/.test(text.slice(Math.max(0, at - 21), at))
}
