import { PassThrough } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { withoutTrailing } from '../../messages/characters.ts'

/** What a terminal wraps around what is pasted, once it was asked to. Source: xterm's control sequences, bracketed paste. */
const PASTE_BEGINS = '\x1b[200~'
const PASTE_ENDS = '\x1b[201~'
const CTRL_C = '\x03'
/** How long the beginning of a mark may wait for its end, milliseconds. */
const ESCAPE_WAIT_MS = 50
/** Stands for a line break within a line that is being edited. */
export const LINE_BREAK = '␤'

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
