import { createInterface, type Interface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { withoutTrailing } from '../../../core/messages/characters.ts'
import type { Context, Sink } from '../../command.ts'
import { terminalCode } from '../../output/safe-text.ts'

/** The prompts of a chat. */
export type Prompts = {
  /** The next prompt; `undefined` at the end. */
  next(): Promise<string | undefined>
  /** Runs work that Ctrl-C interrupts. */
  during<T>(interrupt: () => void, work: () => Promise<T>): Promise<T>
  close(): void
}

/** Prompts from a file or a pipe, one per line; a backslash at the end joins the next line. Blank lines are skipped. */
export function pipedPrompts(lines: AsyncIterator<string>, close: () => void): Prompts {
  return {
    async next() {
      for (let before = ''; ; ) {
        const { value, done } = await lines.next()
        if (done === true) return before.trim() === '' ? undefined : before
        const { text, continues } = joined(before, value)
        if (!continues && text.trim() !== '') return text
        before = continues ? text : ''
      }
    },
    during: (_interrupt, work) => work(),
    close,
  }
}

/** A single prompt. */
export function onePrompt(message: string): Prompts {
  const waiting = [message]
  return { next: async () => waiting.pop(), during: (_interrupt, work) => work(), close() {} }
}

/** A line after the ones before it. `continues`: a backslash at its end joins the next one. */
function joined(before: string, line: string): { readonly text: string; readonly continues: boolean } {
  const continues = line.endsWith('\\')
  return { text: before + (continues ? `${line.slice(0, -1)}\n` : line), continues }
}

/** The marks of a terminal around pasted text (xterm's bracketed paste), and what turns them on and off. */
const PASTE_BEGINS = '\x1b[200~'
const PASTE_ENDS = '\x1b[201~'
const PASTE_MARKS_ON = '\x1b[?2004h'
const PASTE_MARKS_OFF = '\x1b[?2004l'
const CTRL_C = '\x03'
/** Milliseconds that the beginning of a mark waits for its end. */
const ESCAPE_WAIT_MS = 50
/** Replaces a line break in a line that is being edited. */
const LINE_BREAK = '␤'

type Terminal = NodeJS.ReadableStream & {
  readonly isTTY?: boolean
  setRawMode?(mode: boolean): unknown
}

/**
 * Passes keys to the line editor. During an answer they wait, and Ctrl-C interrupts the answer. A paste of several lines becomes one line
 * of the editor, with `LINE_BREAK` for each break. The terminal is in raw mode from `start` to `close`.
 */
export class Keyboard {
  /** The input of the line editor. */
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
    // The editor leaves raw mode when Ctrl-Z stops the program, and returns to it.
    const setRawMode = (mode: boolean): void => void terminal.setRawMode?.(mode)
    this.keys = Object.assign(this.#stream, { isTTY: true as const, setRawMode })
  }

  readonly #take = (bytes: Buffer | string): void => {
    const text = this.#part + (typeof bytes === 'string' ? bytes : this.#decoder.write(bytes))
    const held = beginningOfMark(text)
    this.#part = text.slice(text.length - held)
    this.#read(text.slice(0, text.length - held))
    // Escape alone is a key, unless the rest of a mark follows at once.
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

  /** Holds keys back until `release`; Ctrl-C calls `interrupt` meanwhile. */
  hold(interrupt: () => void): void {
    this.#interrupt = interrupt
  }

  /** Passes on the keys that waited. */
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
      // Keys typed before Ctrl-C belong to the interrupted work.
      this.#waiting = text.slice(at + 1)
      this.#interrupt()
    }
  }
}

/** The number of characters at the end of a text that may begin a mark. */
function beginningOfMark(text: string): number {
  for (let length = Math.min(text.length, PASTE_BEGINS.length - 1); length > 0; length--) {
    const end = text.slice(-length)
    if (PASTE_BEGINS.startsWith(end) || PASTE_ENDS.startsWith(end)) return length
  }
  return 0
}

/** Pasted text as a line of the editor, without control characters and a final break. */
function asOneLine(pasted: string): string {
  return withoutTrailing(pasted.replace(/\r\n|\r/g, '\n'), '\n')
    .replaceAll('\n', LINE_BREAK)
    .replaceAll('\t', '  ')
    .replace(/\p{Cc}/gu, '')
}

type TerminalPromptsOptions = {
  /** Shown before a line, and before one that continues another. */
  readonly prompt: string
  readonly continuation: string
  readonly isColored: boolean
  /** Earlier prompts, newest first, for the up arrow. */
  readonly history: readonly string[]
  /** Words that Tab completes at the beginning of a line. */
  readonly words: readonly string[]
}

// Typed joiners and selectors of emoji and scripts arrive one by one, without their letters, and would be shown as numbers.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the sequences of the line editor
const EDITOR_CODE = /\x1b\[[\d;?]*[A-Za-z]|\r|\x07|\u200c|\u200d|\ufe0e|\ufe0f/g

/**
 * Prompts typed at a terminal, with a line editor and its history. Ctrl-C clears a line; on an empty line it ends the chat, as Ctrl-D does.
 * Keys typed during an answer are used for the next prompt.
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
  // The shell turned the marks off. They must be on before the prompt is shown again, because a paste may follow at once.
  editor.on('SIGCONT', () => err.write(terminalCode(PASTE_MARKS_ON)))
  const typed = new TypedKeys(editor)
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

/** The output of the line editor: its own sequences pass, typed text is made safe. */
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

/** Events of the line editor in order. Pasted lines arrive faster than they are read. */
class TypedKeys {
  readonly editor: Interface
  readonly #waiting: Key[] = []
  #wake: (() => void) | undefined

  constructor(editor: Interface) {
    this.editor = editor
    editor.on('line', (line) => this.#add({ line }))
    editor.on('SIGINT', () => this.#add('interrupt'))
    editor.on('close', () => this.#add('end'))
    // After Ctrl-Z and `fg` the editor waits for a prompt.
    editor.on('SIGCONT', () => editor.prompt(true))
  }

  #add(key: Key): void {
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
    this.#add('end')
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }
}

async function readPrompt(
  typed: TypedKeys,
  keyboard: Keyboard,
  { prompt, continuation, isColored }: TerminalPromptsOptions,
): Promise<string | undefined> {
  const { editor } = typed
  // The editor measures the prompt and recognizes only plain colors, not our marked ones.
  const look = (text: string): string => (isColored ? `\x1b[36m${text}\x1b[39m` : text)
  try {
    for (let before = ''; ; ) {
      if (!typed.isWaiting) {
        editor.setPrompt(look(before === '' ? prompt : continuation))
        editor.prompt()
        keyboard.release()
      }
      const key = await typed.next()
      if (key === 'end') return undefined
      if (key === 'interrupt') {
        if (editor.line === '' && before === '') return undefined
        before = ''
        // To the end of the line, then clear it.
        editor.write(null, { ctrl: true, name: 'e' })
        editor.write(null, { ctrl: true, name: 'u' })
        continue
      }
      const { text, continues } = joined(before, key.line.replaceAll(LINE_BREAK, '\n'))
      if (!continues && text.trim() !== '') return text
      before = continues ? text : ''
    }
  } finally {
    keyboard.hold(() => {})
  }
}
