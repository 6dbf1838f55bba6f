import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Context, Sink } from '../command.ts'
import { terminalCode } from '../output/trusted-codes.ts'
import { Keyboard, LINE_BREAK } from './keyboard.ts'
import { joined, type Prompts } from './lines.ts'

export type TerminalPromptsOptions = {
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
