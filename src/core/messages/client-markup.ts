import { indexOfText } from './characters.ts'
import { listIn } from './json.ts'

/*
 * The text that clients add to a user's messages, apart from the user's own words: elements with the state of an editor, reminders,
 * commands and their output, notices. Such text is not a request, a rule or an outcome. Titles, summaries, the search and exports share
 * this table.
 */

/**
 * The kinds of markup:
 * - `added`: elements that the client added, anywhere.
 * - `attached`: elements with content that the user attached, or that a command of the user printed; the search includes it.
 * - `typed`: elements around the user's typed text; if a text begins with one, the rest is the client's.
 * - `request`: like `typed`, also after other elements.
 * - `notice`: beginnings of a text that the client wrote as a whole.
 * - `reply`: beginnings of such a text around what the user typed.
 * - `line`: whole lines of the client.
 * - `rest`: lines from which on a text is the client's.
 */
type Kind = 'added' | 'attached' | 'typed' | 'request' | 'notice' | 'reply' | 'line' | 'rest'

/**
 * The markup of a client, and where its source can be found. Patterns have no anchors: they match names of elements, or beginnings of
 * texts or lines.
 */
type Client = { readonly source: string } & { readonly [K in Kind]?: readonly string[] }

export const CLIENT_MARKUP: readonly Client[] = [
  {
    source: 'Claude Code, its transcripts (~/.claude/projects)',
    added: [
      // Also Codex (openai/codex), codex-rs/core/src/context/contextual_user_message.rs.
      '\\w{1,30}[-_](?:reminder|notification)',
      'ide_(?!selection$)\\w{1,30}',
      'command-(?!args$)[a-z]{1,20}|local-command-(?!std(?:out|err)$)[a-z]{1,20}',
    ],
    attached: ['ide_selection|bash-(?:input|stdout|stderr)|local-command-std(?:out|err)'],
    typed: ['command-args'],
    notice: [
      'Caveat: The messages below',
      'This session is being continued from a previous conversation',
      'Base directory for this skill: ',
      'Stop hook feedback:',
      'The user wants to clarify these questions\\.',
      // Also opencode, packages/opencode/src/command/template/initialize.txt.
      'Please analyze this codebase and create an? (?:CLAUDE|AGENTS)\\.md file',
    ],
    line: [
      '\\[Request interrupted by user[^\\]\\n]{0,40}\\]',
      '\\[Image: (?:source|original)[^\\]\\n]{1,180}\\]',
      'No response requested\\.',
      '(?:Full transcript available at|Read the output file to retrieve the result): \\S{1,300}',
      'Continue from where you left off\\.',
    ],
    rest: [
      // Also opencode (sst/opencode), packages/opencode/src/session/prompt.ts.
      '(?:Called|Result of calling) the [A-Z][a-z]{2,12} tool(?: with the following input)?:',
    ],
  },
  {
    source:
      'Cline, Roo Code and Kilo Code, src/core: task, environment, mentions/index.ts, prompts/responses.ts',
    added: ['environment_details|explicit_instructions|task_progress'],
    attached: [
      '(?:file|folder|url)_content|workspace_diagnostics|git_(?:working_state|commit)|terminal_output',
    ],
    typed: ['task|feedback|user_message|user_feedback|answer'],
    notice: ['\\[ERROR\\] You did not use a tool'],
    reply: ['\\[TASK RESUMPTION\\]|The user provided the following feedback:|You seem to be having trouble '],
    rest: [
      '# (?:Todo List \\(Optional|task_progress (?:RECOMMENDED|List|CREATION)|TODO LIST (?:CREATION|UPDATE|RECOMMENDED)|Current Progress:)',
    ],
  },
  {
    source: 'Codex (openai/codex), codex-rs/core/src/context and codex-rs/tui/prompt_for_init_command.md',
    added: [
      '(?:environment|extension|goal)_context|user_instructions|turn_aborted|hook_prompt|permissions|skill',
    ],
    attached: ['user_shell_command'],
    notice: ['Generate a file named AGENTS\\.md|# AGENTS\\.md instructions for |<permissions instructions'],
  },
  {
    source: 'Copilot Chat (microsoft/vscode-copilot-chat), src/extension/prompts/node/agent/agentPrompt.tsx',
    added: [
      '(?:environment|workspace|repository)_?info|(?:editor|repo)context|toolreferences|reminderinstructions',
    ],
    attached: ['attachments?'],
    request: ['userrequest'],
  },
  {
    source: 'Cursor, its transcripts (~/.cursor/projects/*/agent-transcripts)',
    added: [
      'user_info|open_and_recently_viewed_files|git_status|agent_transcripts|agent_skills|mcp_file_system|image_files|timestamp',
    ],
    attached: ['additional_data|attached_files'],
    request: ['user_query'],
    notice: ['<rules>\\s{0,3}The rules section has '],
    rest: ['Implement the plan as specified, it is attached for your reference\\.'],
  },
  {
    source: 'Gemini CLI (google-gemini/gemini-cli), environmentContext.ts and atCommandProcessor.ts',
    added: ['session_context'],
    notice: ['This is the Gemini CLI\\. We are setting up the context'],
    rest: ['--- Content from referenced files ---'],
  },
  {
    source: 'pi (badlogic/pi-mono), packages/coding-agent/src/core/messages.ts',
    notice: [
      'The conversation history before this point was compacted into the following summary:|The following is a summary of a branch that this conversation came back from:',
    ],
  },
  {
    source: 'SWE-agent, OpenHands and OpenCoder',
    notice: ['No tool calls found in |There is no code from the last |Here is a demonstration of how to '],
  },
  {
    source: 'aider, .aider.chat.history.md',
    notice: ['aider chat started at |(?:\\S{0,150}aider\\b[^\\n]{0,200}\\n)?Aider v\\d'],
  },
  {
    source: 'opencode (sst/opencode), packages/opencode/src/session/prompt.ts',
    line: [
      'Summarize the task tool output above and continue with your task\\.|The following tool was executed by the user|Continue if you have next steps(?:, or stop and ask for clarification if you are unsure how to proceed\\.)?',
    ],
  },
]

const patternOf = (kind: Kind): string => CLIENT_MARKUP.flatMap((client) => client[kind] ?? []).join('|')

const ADDED = new RegExp(`^(?:${patternOf('added')})$`)
const ATTACHED = new RegExp(`^(?:${patternOf('attached')})$`)
const TYPED = new RegExp(`^(?:${patternOf('typed')}|${patternOf('request')})$`)
const REQUEST = new RegExp(`<(?:${patternOf('request')})(?=[\\s>])`, 'i')
const NOTICE = new RegExp(`^(?:${patternOf('notice')})`)
const REPLY = new RegExp(`^(?:${patternOf('reply')})`)
const LINE = new RegExp(`^(?:${patternOf('line')})$`)
const REST = new RegExp(`^(?:${patternOf('rest')})`)
/** The most units of a line or a beginning that are compared. */
const HEAD_UNITS = 400

const TAG = /<(\/?)([A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,300})?>/g

/** A piece of a text: typed by the user, added by the client, or attached by the user and written out by the client. */
export type Piece = { readonly by: 'user' | 'client' | 'attachment'; readonly text: string }

/**
 * Returns the pieces of a text, in order; together they are the text without the tags around typed pieces. An element that is never
 * closed counts if it begins a line: then the rest of the text is the client's. Takes linear time.
 */
export function markupPieces(text: string): readonly Piece[] {
  const head = headOf(text)
  if (NOTICE.test(head)) return clients(text)
  if (REPLY.test(head) || !text.includes('<')) return spokenIn(text)
  const request = requestIn(text)
  const pieces: Piece[] = []
  let at = 0
  for (const { name, from, to } of addedIn(text.slice(0, request))) {
    const before = text.slice(at, from)
    for (const piece of request === undefined ? spokenIn(before) : clients(before)) pieces.push(piece)
    pieces.push({ by: ATTACHED.test(name) ? 'attachment' : 'client', text: text.slice(from, to) })
    at = to
  }
  for (const piece of clients(text.slice(at, request ?? at))) pieces.push(piece)
  for (const piece of spokenIn(text.slice(request ?? at))) pieces.push(piece)
  return pieces
}

/** Returns where the element with the user's request begins, if only elements of the client precede it. */
function requestIn(text: string): number | undefined {
  const at = text.search(REQUEST)
  if (at <= 0) return undefined
  return withoutElements(text.slice(0, at), () => true).trim() === '' ? at : undefined
}

function clients(text: string): readonly Piece[] {
  return text === '' ? [] : [{ by: 'client', text }]
}

/** Returns the part of a text that the user typed; empty if there is none. */
export function typedText(text: string): string {
  return wordsOf(text).trim()
}

/** Like `typedText`, but with its white space. A text without markup is returned unchanged. */
export function wordsOf(text: string): string {
  return markupPieces(text)
    .filter(({ by }) => by === 'user')
    .map((piece) => piece.text)
    .join('\n')
}

/** Returns a text of the same length, with spaces in place of the client's additions. */
export function withoutMarkup(text: string): string {
  const kept: string[] = []
  let at = 0
  for (const piece of markupPieces(text)) {
    const from = text.indexOf(piece.text, at)
    kept.push(' '.repeat(from - at), piece.by === 'client' ? ' '.repeat(piece.text.length) : piece.text)
    at = from + piece.text.length
  }
  return kept.join('') + ' '.repeat(text.length - at)
}

function headOf(text: string): string {
  return text.trimStart().slice(0, HEAD_UNITS)
}

/**
 * Returns the pieces of a text between added elements: if it begins with a typed element, the typed elements and the rest; otherwise its
 * lines.
 */
function spokenIn(text: string): readonly Piece[] {
  if (text === '') return []
  const head = headOf(text)
  if (REPLY.test(head)) return typedIn(text) ?? clients(text)
  const name = /^<([A-Za-z][\w:.-]{0,60})[\s>]/.exec(head)?.[1]
  const typed = name !== undefined && TYPED.test(name.toLowerCase()) ? typedIn(text) : undefined
  return typed ?? linesIn(text)
}

/** Returns the typed elements of a text as the user's and everything else as the client's; `undefined` if there is no such element. */
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

/** Returns the lines of a text, with those of the client separate. If the text begins with a notice, all of it is the client's. */
function linesIn(text: string): readonly Piece[] {
  if (NOTICE.test(headOf(text))) return clients(text)
  const pieces: { by: 'user' | 'client'; text: string }[] = []
  let isRest = false
  for (const line of text.split('\n')) {
    const head = headOf(line).trim()
    isRest ||= REST.test(head)
    const by = isRest || LINE.test(head) ? 'client' : 'user'
    const last = pieces.at(-1)
    if (last?.by === by) last.text += `\n${line}`
    else pieces.push({ by, text: line })
  }
  return pieces
}

/** An element of a text: its name in lower case, and the places of its tags. */
type Element = { readonly name: string; readonly from: number; readonly to: number }

/** Returns the outermost added elements. */
function addedIn(text: string): readonly Element[] {
  const { found, open } = elementsIn(text, (name) => ADDED.test(name) || ATTACHED.test(name))
  // The text was cut within an element that begins a line, as the head of a file is.
  const cut = open.find(({ from }) => /(?:^|\n)[ \t]{0,20}$/.test(text.slice(Math.max(0, from - 21), from)))
  if (cut === undefined || found.some(({ from, to }) => from < cut.from && cut.from < to)) return found
  return [...found.filter(({ to }) => to <= cut.from), { ...cut, to: text.length }]
}

/**
 * Returns the outermost closed elements with selected names, and the opening tags of elements that are never closed, in order. `isOne`
 * receives the places of both tags. Takes linear time.
 */
function elementsIn(
  text: string,
  isSought: (name: string) => boolean,
  isOne: (opening: number, closing: number) => boolean = () => true,
): { readonly found: readonly Element[]; readonly open: readonly Omit<Element, 'to'>[] } {
  const opened = new Map<string, number[]>()
  const found: Element[] = []
  for (const { 0: tag, 1: slash, 2: given = '', index } of text.matchAll(TAG)) {
    const name = given.toLowerCase()
    if (!isSought(name)) continue
    if (slash === '') {
      listIn(opened, name).push(index)
      continue
    }
    const from = opened.get(name)?.pop()
    if (from === undefined || !isOne(from, index)) continue
    while (found.length > 0 && found.at(-1)!.from > from) found.pop()
    found.push({ name, from, to: index + tag.length })
  }
  const open = [...opened].flatMap(([name, places]) => places.map((from) => ({ name, from })))
  return { found, open: open.sort((a, b) => a.from - b.from) }
}

/** Returns a text without the outermost elements with selected names. An element that is never closed is kept. */
export function withoutElements(
  text: string,
  isSought: (name: string) => boolean,
  isOne?: (opening: number, closing: number) => boolean,
): string {
  if (!text.includes('</')) return text
  let kept = ''
  let end = 0
  for (const { from, to } of elementsIn(text, isSought, isOne).found) {
    kept += `${text.slice(end, from)}\n`
    end = to
  }
  return kept + text.slice(end)
}
