import { detached, headOf } from '../../messages/characters.ts'
import { wordsOf } from '../../messages/client-markup.ts'
import { type Message, partsOf, type RowKind, textsOf } from '../../messages/message.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { TEST_COMMAND } from '../../messages/outcome-wordings.ts'
import { type Answer, approvalReason } from '../../messages/user-answers.ts'
import { type Call, type CallsRead, outputHead, questionOf } from '../calls.ts'
import { ends, oneLine, shorten, shortenPath, withoutFences } from '../text.ts'
import { Artifacts } from './artifacts.ts'
import { CheckBoxes } from './boxes.ts'
import type { Conversation, Failure } from './conversation.ts'
import { errorLine } from './error-line.ts'
import { type Exchange, REFUSED, type Utterance } from './exchanges.ts'
import { Names } from './names.ts'
import { ownWords } from './own-words.ts'
import { filesGivenIn } from './rule-files.ts'
import { branchOf, callLabel, commitSubject, directoryOf, gistOf, shellCommand, writtenBy } from './shell.ts'
import { isGroupTalk, speakerOf, withSpeakers } from './speakers.ts'
import { firstStatement } from './statements.ts'
import { isTaskCall, TodoList } from './todo-list.ts'

/** The units of one text that are read, at its beginning and its end, where rules and results are. */
const USER_ENDS = [6_000, 2_000] as const
const ASSISTANT_ENDS = [2_500, 1_500] as const
/** The maximum number of failures and commits. */
const MAX_FAILURES = 60
const MAX_COMMITS = 2_000
/** The number of calls that are described as the newest ones. */
const MAX_LATEST = 40

/** An ended call: its label, and the file that it changed. */
type LatestCall = {
  readonly at: number
  readonly label: string
  readonly outcome: Outcome
  readonly changed: string | undefined
}
/** A longer text directly after a command of the client without words is what the client wrote for it. */
const COMMAND_UNITS = 600
/** The units of the output of git that are read. */
const GIT_UNITS = 2_000

/**
 * Reads a conversation for extraction, one message after another. Keeps texts, names and what calls did, not the contents of calls.
 * Truncation markers are ignored.
 */
export class ConversationReader {
  /** By the role of their message; `speaker`: the name in it. */
  readonly #texts: Utterance[] = []
  readonly #summaries: string[] = []
  readonly #failures = new Map<string, Failure>()
  readonly #commits: { readonly subject: string; readonly at: number }[] = []
  readonly #directories = new Map<string, number>()
  readonly #boxes = new CheckBoxes()
  readonly #names = new Names()
  readonly #artifacts = new Artifacts(this.#names)
  readonly #latest: LatestCall[] = []
  readonly #todo = new TodoList()
  readonly #ruleFiles = new Set<string>()
  #lastCallAt = -1
  #branch: string | undefined
  /** What the user gave to a command of the client: the next message with it is the instructions of the command. */
  #given: string | undefined
  #at = 0

  /** Adds a message, its calls and its position in the log. Results that come later are set on the calls. */
  add(message: Message & { readonly kind?: RowKind }, { made, ended }: CallsRead, position?: number): void {
    const at = this.#at++
    if (message.role === 'assistant') this.#given = undefined
    const text = message.role === 'system' || message.role === 'tool' ? '' : textsOf(message).join('\n')
    if (text.trim() !== '') this.#addText(message, text, at, position, made.length > 0)
    if (message.role === 'tool')
      for (const part of partsOf(message)) {
        const reason = approvalReason(part)
        if (reason !== undefined) this.#addSpoken(reason, 'approved a call', at, position)
      }
    for (const call of made) this.#begin(call, message.role === 'assistant' ? text : '')
    for (const call of ended) {
      this.#end(call)
      if (call.result?.answer !== undefined) this.#addAnswer(call, call.result.answer, at, position)
    }
  }

  /** What a person answered through a tool is quoted like a message of the user. */
  #addAnswer(call: Call, { text, isRefusal }: Answer, at: number, position: number | undefined): void {
    const asked = isRefusal ? callLabel(call, shellCommand(call)) : (questionOf(call.input) ?? call.name)
    this.#addSpoken(text, `${isRefusal ? REFUSED : 'asked: '}${shorten(oneLine(asked), 120)}`, at, position)
  }

  #addSpoken(text: string, reply: string, at: number, position: number | undefined): void {
    const shown = endsOf(text, USER_ENDS)
    this.#names.add(text, 'user', at, this.#artifacts.ofText(at))
    const own = endsOf(ownWords(text), USER_ENDS)
    this.#texts.push({ by: 'user', text: shown, at, position, own, reply: detached(reply) })
  }

  #addText(
    message: Message & { readonly kind?: RowKind },
    text: string,
    at: number,
    position: number | undefined,
    hasCalls: boolean,
  ): void {
    const { kind, role } = message
    const speaker = speakerOf(message)
    if (kind === 'marker') return
    if (kind === 'summary') this.#summaries.push(text)
    else if (role === 'assistant') {
      const shown = endsOf(text, ASSISTANT_ENDS)
      this.#texts.push({ by: 'assistant', speaker, text: shown, at, own: shown, hasCalls })
      this.#boxes.add(shown, { by: 'assistant' })
      this.#names.add(text, 'assistant', at, this.#artifacts.ofText(at))
      this.#artifacts.cite(text)
      this.#artifacts.show(text, at)
    } else {
      for (const path of filesGivenIn(text)) this.#ruleFiles.add(detached(path))
      const written = wordsOf(text)
      const given = this.#given
      this.#given = /<command-name>/.test(headOf(text, 400)) ? written.trim() : undefined
      const shown = endsOf(written, USER_ENDS)
      if (shown.trim() === '') return
      this.#names.add(written, 'user', at, this.#artifacts.ofText(at))
      this.#boxes.add(shown, { by: 'user' })
      // Of the whole text: a block that is cut would stay open.
      const isCommand =
        given !== undefined && written.includes(given) && (given !== '' || written.length > COMMAND_UNITS)
      const own = isCommand ? '' : ownWords(written)
      const ownEnds = own === written ? shown : endsOf(own, USER_ENDS)
      this.#texts.push({ by: 'user', speaker, text: shown, at, position, own: ownEnds })
    }
  }

  #begin(call: Call, reason: string): void {
    this.#lastCallAt = call.at
    this.#todo.begin(call)
    this.#artifacts.begin(call, call.effect === 'write' ? firstStatement(reason) : '', isTaskCall(call))
  }

  #end(call: Call): void {
    const { outcome, at } = call.result!
    const command = shellCommand(call)
    const label = callLabel(call, command)
    const changed = call.effect === 'write' && outcome !== 'failed' ? call.paths[0] : undefined
    this.#latest.push({ at: call.at, label, outcome, changed })
    if (this.#latest.length > MAX_LATEST) this.#latest.shift()
    const gist = command === undefined ? undefined : gistOf(command)
    if (!isTaskCall(call)) this.#artifacts.end(call)
    this.#todo.end(call)
    const line = errorLine(call)
    if (line !== undefined) this.#fail(label, line, gist, call)
    const isTest = gist !== undefined && TEST_COMMAND.test(gist)
    if (outcome === 'failed') return
    const paths =
      this.#failures.size === 0 ? [] : [...call.paths, ...writtenBy(command ?? '').map(({ path }) => path)]
    for (const failure of this.#failures.values()) {
      const { command: failed } = failure
      if (
        failure.label === label ||
        (failed !== undefined && gist?.split(/ ?(?:&&|\n) ?/).includes(failed)) ||
        failure.paths.some((path) => paths.includes(path))
      )
        failure.isOpen = false
      else if (gist !== undefined)
        failure.isOvercome ||=
          failed !== undefined && (isSimilar(failed, gist) || (isTest && TEST_COMMAND.test(failed)))
    }
    this.#boxes.addWritten(call)
    if (command !== undefined) this.#addCommand(command, outputHead(call.result!.output, GIT_UNITS), at)
  }

  #fail(label: string, line: string, gist: string | undefined, { paths, result }: Call): void {
    const key = `${label} ${line}`
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    this.#failures.delete(key)
    const command = gist === undefined ? undefined : detached(headOf(gist, 400))
    const state = { at: result!.at, count, isOpen: true, isOvercome: false }
    this.#failures.set(key, { label: detached(label), line: detached(line), command, paths, ...state })
    if (this.#failures.size > MAX_FAILURES) this.#failures.delete(this.#failures.keys().next().value!)
  }

  #addCommand(command: string, output: string, at: number): void {
    const directory = directoryOf(command)
    if (directory !== undefined) this.#directories.set(directory, (this.#directories.get(directory) ?? 0) + 1)
    const subject = commitSubject(command)
    if (subject !== undefined) this.#commits.push({ subject: detached(subject), at })
    if (this.#commits.length > MAX_COMMITS) this.#commits.splice(0, MAX_COMMITS / 2)
    this.#branch = branchOf(command, output) ?? this.#branch
  }

  /** Returns the conversation. Call it after the last message. */
  conversation(): Conversation {
    const isGroup = isGroupTalk(this.#texts, this.#lastCallAt >= 0)
    const texts = withSpeakers(this.#texts, isGroup)
    const replies = withoutPrinted(texts.filter(({ by }) => by === 'assistant'))
    const [directory] = [...this.#directories].sort((a, b) => b[1] - a[1])[0] ?? []
    return {
      texts,
      ruleFiles: [...this.#ruleFiles],
      replies,
      exchanges: exchangesOf([...texts.filter(({ by }) => by === 'user'), ...replies], this.#commits),
      isGroupTalk: isGroup,
      commits: this.#commits.map(({ subject }) => subject),
      summaries: this.#summaries,
      lastCallAt: this.#lastCallAt,
      latest: (after) => described(this.#latest.filter(({ at }) => at > after)),
      failures: [...this.#failures.values()],
      todo: this.#todo.items(),
      todoAt: this.#todo.at,
      isTodoWhole: this.#todo.isWhole,
      todoById: this.#todo.byId(),
      boxes: this.#boxes.all(),
      directory,
      branch: this.#branch,
      artifacts: this.#artifacts,
      names: this.#names,
      count: this.#at,
    }
  }
}

/** What calls did: the files changed, the number of other calls, and the last one with its outcome. */
function described(calls: readonly LatestCall[]): string {
  const last = calls.at(-1)
  if (last === undefined) return ''
  const files = [...new Set(calls.flatMap(({ changed }) => changed ?? []))]
  const others = calls.filter(({ changed }) => changed === undefined).length
  const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? '' : 's'}`
  const newest = files.slice(-3).map((path) => `\`${shortenPath(path, 60)}\``)
  const parts = files.length > 0 ? [`${count(files.length, 'file')} changed (${newest.join(', ')})`] : []
  if (others > 0) parts.push(count(others, files.length > 0 ? 'other call' : 'call'))
  return [...parts, `last: ${last.label}${last.outcome === 'unknown' ? '' : ` ${last.outcome}`}`].join(', ')
}

/** Whether a command ran the last one of a failed line again, with all its words besides options. */
function isSimilar(failed: string, later: string): boolean {
  const [last = ''] = failed.split(/ ?(?:&&|\n) ?/).slice(-1)
  const words = last.split(/\s+/).filter((word) => word !== '' && !/^-|^\d?[<>|&]/.test(word))
  const known = new Set(later.split(/\s+/))
  return later.startsWith(failed) || (words.length >= 2 && words.every((word) => known.has(word)))
}

/** The number of replies with a line that a client prints. */
const MIN_PRINTED = 3
/** Three words at the beginning of a line. */
const PRINTED = /^[\p{L}[(_](?:\S* ){2}/u

/** Replies without the sentences on lines of their own that stand in several, apart from their numbers, and are none of them as a whole. */
function withoutPrinted(replies: readonly Utterance[]): readonly Utterance[] {
  const formOf = (line: string): string =>
    headOf(line, 200)
      .replaceAll(/\d[\d.,]*/g, '0')
      .trimEnd()
  const counts = new Map<string, number>()
  for (const { text } of replies) {
    const forms = new Set(withoutFences(text).split('\n').map(formOf))
    forms.delete('')
    const isOnly = forms.size === 1
    for (const form of forms)
      if (PRINTED.test(form))
        counts.set(form, isOnly ? Number.NEGATIVE_INFINITY : (counts.get(form) ?? 0) + 1)
  }
  return replies.map((reply) => {
    const lines = reply.text.split('\n')
    const own = lines.filter((line) => (counts.get(formOf(line)) ?? 0) < MIN_PRINTED)
    return own.length < lines.length ? { ...reply, text: own.join('\n') } : reply
  })
}

/** The ends of a long text, without the text between them in memory. */
function endsOf(text: string, [first, last]: readonly [number, number]): string {
  const shown = ends(text, first, last)
  return shown.length < text.length ? detached(shown) : shown
}

function exchangesOf(
  texts: readonly Utterance[],
  commits: readonly { readonly subject: string; readonly at: number }[],
): Exchange[] {
  const exchanges: { request: Utterance; replies: Utterance[]; commits: string[] }[] = []
  for (const one of [...texts, ...commits].sort((a, b) => a.at - b.at))
    if ('subject' in one) exchanges.at(-1)?.commits.push(one.subject)
    else if (one.by === 'assistant') exchanges.at(-1)?.replies.push(one)
    else exchanges.push({ request: one, replies: [], commits: [] })
  return exchanges
}
