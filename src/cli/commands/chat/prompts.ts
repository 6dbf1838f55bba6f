import { createInterface, type Interface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { withoutTrailing } from '../../../messages/characters.ts'
import type { Context, Sink } from '../../command.ts'
import { terminalCode } from '../../output/safe-text.ts'

/** What a terminal wraps around what is pasted, once it was asked to. Source: xterm's control sequences, bracketed paste. */
const PASTE_BEGINS = '\x1b[200~'
const PASTE_ENDS = '\x1b[201~'
const CTRL_C = '\x03'
/** How long the beginning of a mark may wait for its end, milliseconds. */
const ESCAPE_WAIT_MS = 50
/** Stands for a line break within a line that is being edited. */
const LINE_BREAK = '␤'

type Terminal = NodeJS.ReadableStream & {
  readonly isTTY?: boolean
  setRawMode?(mode: boolean): unknown
}

/**
 * Keys on their way to the line editor. While an answer comes they wait, and Ctrl-C goes to whoever listens; a paste of several lines
 * stays one line of the editor's, with `LINE_BREAK` for each break. The terminal is in raw mode from `start` to `close`.
 */
export class Keyboard {
  /** What the line editor reads. */
  readonly keys: NodeJS.ReadableStream & { readonly isTTY: true; setRawMode(mode: boolean): void }
  readonly #terminal: Terminal
  readonly #stream = new PassThrough()
  #waiting = ''
  #interrupt: (() => void) | undefined
  #paste: string | undefined
  #part = ''
  #escape: ReturnType<typeof setTimeout> | undefined
  readonly #decoder = new StringDecoder('utf8')

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    // The editor leaves raw mode when the program is stopped by Ctrl-Z, and comes back to it.
    const setRawMode = (mode: boolean): void => void terminal.setRawMode?.(mode)
    this.keys = Object.assign(this.#stream, { isTTY: true as const, setRawMode })
  }

  readonly #take = (bytes: Buffer | string): void => {
    const text = this.#part + (typeof bytes === 'string' ? bytes : this.#decoder.write(bytes))
    const held = beginningOfMark(text)
    this.#part = text.slice(text.length - held)
    this.#read(text.slice(0, text.length - held))
    // A lone Escape is a key, unless the rest of a mark comes at once.
    clearTimeout(this.#escape)
    if (this.#part !== '' && this.#paste === undefined)
      this.#escape = setTimeout(() => this.#flush(), ESCAPE_WAIT_MS)
  }

  #flush(): void {
    clearTimeout(this.#escape)
    const part = this.#part
    this.#part = ''
    if (this.#paste === undefined) this.#forward(part)
    else this.#paste += part
  }

  readonly #end = (): void => {
    this.#flush()
    this.#stream.end()
  }

  start(): void {
    this.#terminal.setRawMode?.(true)
    this.#terminal.on('data', this.#take)
    this.#terminal.on('end', this.#end)
    this.#terminal.resume()
  }

  close(): void {
    clearTimeout(this.#escape)
    this.#terminal.off('data', this.#take)
    this.#terminal.off('end', this.#end)
    this.#terminal.pause()
    this.#terminal.setRawMode?.(false)
  }

  /** Holds keys back until the answer is there; Ctrl-C calls `interrupt` meanwhile. */
  hold(interrupt: () => void): void {
    this.#interrupt = interrupt
  }

  /** Lets the keys that waited through. */
  release(): void {
    this.#interrupt = undefined
    const waiting = this.#waiting
    this.#waiting = ''
    if (waiting !== '') this.#forward(waiting)
  }

  #read(text: string): void {
    for (let rest = text; rest !== ''; ) {
      const mark = this.#paste === undefined ? PASTE_BEGINS : PASTE_ENDS
      const at = rest.indexOf(mark)
      const before = at === -1 ? rest : rest.slice(0, at)
      if (this.#paste === undefined) this.#forward(before)
      else this.#paste += before
      if (at === -1) return
      if (this.#paste === undefined) this.#paste = ''
      else {
        this.#forward(asOneLine(this.#paste))
        this.#paste = undefined
      }
      rest = rest.slice(at + mark.length)
    }
  }

  #forward(text: string): void {
    if (text === '') return
    if (this.#interrupt === undefined) {
      this.#stream.write(text)
      return
    }
    const at = text.lastIndexOf(CTRL_C)
    if (at === -1) this.#waiting += text
    else {
      // What was typed before Ctrl-C was meant for what it ends.
      this.#waiting = text.slice(at + 1)
      this.#interrupt()
    }
  }
}

/** How many characters at the end of a text may be the beginning of a mark. */
function beginningOfMark(text: string): number {
  for (let length = Math.min(text.length, PASTE_BEGINS.length - 1); length > 0; length--) {
    const end = text.slice(-length)
    if (PASTE_BEGINS.startsWith(end) || PASTE_ENDS.startsWith(end)) return length
  }
  return 0
}

/** What was pasted, as the editor takes it: a break at the very end is none, control characters are left out. */
function asOneLine(pasted: string): string {
  return withoutTrailing(pasted.replace(/\r\n|\r/g, '\n'), '\n')
    .replaceAll('\n', LINE_BREAK)
    .replaceAll('\t', '  ')
    .replace(/\p{Cc}/gu, '')
}

type TerminalPromptsOptions = {
  /** What stands before a line, and before those that follow a backslash. */
  readonly prompt: string
  readonly continuation: string
  readonly isColoured: boolean
  /** Earlier prompts, newest first, for the arrow up. */
  readonly history: readonly string[]
  /** Words a line may begin with. */
  readonly words: readonly string[]
}

/** What is asked of the terminal while a chat is at work, and taken back at its end. */
const PASTE_MARKS_ON = '\x1b[?2004h'
const PASTE_MARKS_OFF = '\x1b[?2004l'
// Of what is typed, joiners and selectors of emoji and scripts come one by one, without the letters they belong to.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of the line editor
const EDITOR_CODE = /\x1b\[[\d;?]*[A-Za-z]|\r|\x07|\u200c|\u200d|\ufe0e|\ufe0f/g

/**
 * Prompts typed at a terminal, with a line editor and its history. Ctrl-C on a line clears it, on an empty line it ends, as Ctrl-D does.
 * What is typed while an answer comes is there for the next prompt.
 */
export function terminalPrompts(
  { input, err, signal }: Pick<Context, 'input' | 'err' | 'signal'>,
  options: TerminalPromptsOptions,
): Prompts {
  const keyboard = new Keyboard(input)
  const editor = createInterface({
    input: keyboard.keys,
    output: editorOutput(err),
    terminal: true,
    history: options.history.map((line) => line.replaceAll('\n', LINE_BREAK)),
    removeHistoryDuplicates: true,
    tabSize: 2,
    completer: (line: string) => [
      line.startsWith('/') ? options.words.filter((word) => word.startsWith(line)) : [],
      line,
    ],
  })
  // The shell that had the terminal meanwhile has taken them back. Before the prompt stands there again: who sees it may paste.
  editor.on('SIGCONT', () => err.write(terminalCode(PASTE_MARKS_ON)))
  const typed = new Typed(editor)
  signal.addEventListener('abort', () => typed.end(), { once: true })
  keyboard.start()
  err.write(terminalCode(PASTE_MARKS_ON))
  keyboard.hold(() => {})
  return {
    next: () => readPrompt(typed, keyboard, options),
    async during(interrupt, work) {
      keyboard.hold(interrupt)
      return work()
    },
    close() {
      editor.close()
      keyboard.close()
      err.write(terminalCode(PASTE_MARKS_OFF))
    },
  }
}

/** A stream for the line editor: its own sequences are let through, what was typed is held to what a terminal may get. */
function editorOutput(err: Sink): Writable {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      err.write(chunk.toString().replace(EDITOR_CODE, terminalCode))
      done()
    },
  })
  Object.defineProperty(stream, 'columns', { get: () => err.columns })
  return Object.assign(stream, { isTTY: true })
}

type Key = { readonly line: string } | 'interrupt' | 'end'

/** What the line editor tells, one after the other: lines that were pasted at once come faster than they are asked for. */
class Typed {
  readonly editor: Interface
  readonly #waiting: Key[] = []
  #wake: (() => void) | undefined

  constructor(editor: Interface) {
    this.editor = editor
    editor.on('line', (line) => this.#tell({ line }))
    editor.on('SIGINT', () => this.#tell('interrupt'))
    editor.on('close', () => this.#tell('end'))
    // After Ctrl-Z and `fg`: the editor stands still until it is asked to go on.
    editor.on('SIGCONT', () => editor.prompt(true))
  }

  #tell(key: Key): void {
    this.#waiting.push(key)
    this.#wake?.()
  }

  async next(): Promise<Key> {
    for (;;) {
      const [key] = this.#waiting.splice(0, 1)
      if (key !== undefined) return key
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  end(): void {
    this.#tell('end')
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }
}

async function readPrompt(
  typed: Typed,
  keyboard: Keyboard,
  { prompt, continuation, isColoured }: TerminalPromptsOptions,
): Promise<string | undefined> {
  const { editor } = typed
  // The editor works out how wide a prompt is and knows plain colours alone, not those that a sink lets through.
  const look = (text: string): string => (isColoured ? `\x1b[36m${text}\x1b[39m` : text)
  try {
    for (let said = ''; ; ) {
      if (!typed.isWaiting) {
        editor.setPrompt(look(said === '' ? prompt : continuation))
        editor.prompt()
        keyboard.release()
      }
      const key = await typed.next()
      if (key === 'end') return undefined
      if (key === 'interrupt') {
        if (editor.line === '' && said === '') return undefined
        said = ''
        clearLine(editor)
        continue
      }
      const { text, goesOn } = joined(said, key.line.replaceAll(LINE_BREAK, '\n'))
      if (!goesOn && text.trim() !== '') return text
      said = goesOn ? text : ''
    }
  } finally {
    keyboard.hold(() => {})
  }
}

function clearLine(editor: Interface): void {
  editor.write(null, { ctrl: true, name: 'e' })
  editor.write(null, { ctrl: true, name: 'u' })
}

/** One thing said: a line, or several that belong together. */
export type Prompts = {
  /** The next one; `undefined` at the end. */
  next(): Promise<string | undefined>
  /** Does something that Ctrl-C interrupts. */
  during<T>(interrupt: () => void, work: () => Promise<T>): Promise<T>
  close(): void
}

/** Where something may be read line by line. */
type Lines = AsyncIterator<string>

/** Prompts from a file or a pipe, a line each; a backslash at its end joins the next one. Blank lines are none. */
export function pipedPrompts(lines: Lines, close: () => void): Prompts {
  return {
    async next() {
      for (let said = ''; ; ) {
        const { value, done } = await lines.next()
        if (done === true) return said.trim() === '' ? undefined : said
        const { text, goesOn } = joined(said, value)
        if (!goesOn && text.trim() !== '') return text
        said = goesOn ? text : ''
      }
    },
    during: (_interrupt, work) => work(),
    close,
  }
}

/** One prompt, and the end. */
export function onePrompt(message: string): Prompts {
  let isSaid = false
  return {
    async next() {
      if (isSaid) return undefined
      isSaid = true
      return message
    },
    during: (_interrupt, work) => work(),
    close() {},
  }
}

/** A line behind what was said before it; `goesOn` when a backslash at its end asks for another one. */
export function joined(before: string, line: string): { readonly text: string; readonly goesOn: boolean } {
  const goesOn = line.endsWith('\\')
  const text = before + (goesOn ? `${line.slice(0, -1)}\n` : line)
  return { text, goesOn }
}
