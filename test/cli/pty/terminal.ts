import type { IPty } from '@lydell/node-pty'
import xterm, { type IBufferCell, type Terminal as Xterm } from '@xterm/headless'

/*
 * A program on a real pseudoterminal, and the screen as a terminal emulator draws it. Tests wait for what stands on the screen, never for
 * time to pass.
 */

export type TerminalOptions = {
  readonly columns?: number
  readonly rows?: number
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
}

/** A cell's look: the number of a colour of the palette, or `undefined` for the terminal's own. */
export type Look = {
  readonly colour: number | undefined
  readonly bold: boolean
  readonly dim: boolean
}

/** How long a text is waited for. It ends a test that would hang, and says what stood there instead. */
const PATIENCE_MS = 15_000

/** The sequences by which a stored text could do something besides being seen; none is ours. */
const OSC_OF_NO_USE = [0, 1, 2, 4, 7, 8, 9, 10, 11, 52, 99, 133, 777, 1337]

let pty: typeof import('@lydell/node-pty') | undefined

/**
 * Whether there are pseudoterminals here. Where the native part cannot be loaded the reason is told and the tests are skipped; on CI that is
 * a failure.
 */
export async function hasTerminals(): Promise<boolean> {
  try {
    pty = await import('@lydell/node-pty')
    return true
  } catch (error) {
    if (process.env.CI === 'true') throw error
    console.warn(`skipped: no pseudoterminal here (${(error as Error).message})`)
    return false
  }
}

/** How long a terminal is quiet before its output counts as complete, milliseconds. */
const QUIET_MS = 100

export class Terminal {
  readonly #pty: IPty
  readonly #screen: Xterm
  readonly #exit: Promise<number>
  #raw = ''
  #waiting: (() => void)[] = []
  /** What the terminal answered to questions in the output; a program of ours asks none. */
  readonly answers: string[] = []
  readonly titles: string[] = []
  /** Numbers of the operating system commands that came, and of those alone that none of ours sends. */
  readonly commands: number[] = []

  constructor(file: string, args: readonly string[], options: TerminalOptions = {}) {
    if (pty === undefined) throw new Error('ask hasTerminals first')
    const { columns: cols = 100, rows = 30, env = {}, cwd = process.cwd() } = options
    this.#screen = new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 5_000 })
    this.#screen.onData((answer) => this.answers.push(answer))
    this.#screen.onTitleChange((title) => this.titles.push(title))
    for (const number of OSC_OF_NO_USE)
      this.#screen.parser.registerOscHandler(number, () => {
        this.commands.push(number)
        return false
      })
    const { PATH = '', HOME = '' } = process.env
    this.#pty = pty.spawn(file, [...args], {
      name: 'xterm-256color',
      cols,
      rows,
      cwd,
      env: { PATH, HOME, LANG: 'C.UTF-8', TZ: 'UTC', PAGER: 'cat', ...env },
    })
    let heardAt = 0
    this.#pty.onData((data) => {
      heardAt = performance.now()
      this.#raw += data
      this.#screen.write(data, () => {
        for (const wake of this.#waiting.splice(0)) wake()
      })
    })
    this.#exit = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal = 0 }) => {
        // What the program wrote last is drawn first.
        // The last output may come after the end.
        const settle = (): void => {
          if (performance.now() - heardAt < QUIET_MS) setTimeout(settle, QUIET_MS)
          else this.#screen.write('', () => resolve(signal === 0 ? exitCode : 128 + signal))
        }
        setTimeout(settle, QUIET_MS)
      })
    })
  }

  get pid(): number {
    return this.#pty.pid
  }

  /** Draws something before whatever the program writes; the program is not told. */
  show(text: string): Promise<void> {
    return new Promise((resolve) => this.#screen.write(text, resolve))
  }

  /** Ctrl-D, and the end. */
  async leave(): Promise<void> {
    this.type('\x04')
    await this.exit()
  }

  /** Keys; Enter is `\r`. */
  type(keys: string): void {
    this.#pty.write(keys)
  }

  /** What is pasted, with the marks around it where the program asked for them. */
  paste(text: string): void {
    const keys = text.replaceAll('\n', '\r')
    this.type(this.#screen.modes.bracketedPasteMode ? `\x1b[200~${keys}\x1b[201~` : keys)
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows)
    this.#screen.resize(columns, rows)
  }

  /** Waits until the screen, all that scrolled off included, shows a text or fits a pattern. */
  async sees(wanted: string | RegExp): Promise<void> {
    const deadline = setTimeout(() => this.#giveUp(), PATIENCE_MS)
    let isOver = false
    void this.#exit.then(() => {
      isOver = true
      this.#giveUp()
    })
    try {
      for (;;) {
        const text = this.text()
        if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return
        if (isOver || this.#isTired)
          throw new Error(`waited for ${String(wanted)}, and there stood:\n${text}`)
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
      }
    } finally {
      clearTimeout(deadline)
      this.#isTired = false
    }
  }

  #isTired = false
  #giveUp(): void {
    this.#isTired = true
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** The exit code; 128 and the signal for a program that was killed. */
  exit(): Promise<number> {
    return this.#exit
  }

  /** Everything the program wrote, as it wrote it. */
  get raw(): string {
    return this.#raw
  }

  get isCursorShown(): boolean {
    return this.#raw.lastIndexOf('\x1b[?25l') <= this.#raw.lastIndexOf('\x1b[?25h')
  }

  get marksPastes(): boolean {
    return this.#screen.modes.bracketedPasteMode
  }

  /** The lines of the screen, those that scrolled off first; lines that were too long are joined. */
  lines(): string[] {
    const { active } = this.#screen.buffer
    const lines: string[] = []
    for (let at = 0; at < active.length; at++) {
      const line = active.getLine(at)
      if (line === undefined) continue
      const text = line.translateToString(true)
      if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text
      else lines.push(text)
    }
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  text(): string {
    return this.lines().join('\n')
  }

  /** The cells of the screen, row by row, those that scrolled off first. */
  cells(): IBufferCell[][] {
    const { active } = this.#screen.buffer
    return Array.from({ length: active.length }, (_, y) => {
      const line = active.getLine(y)!
      return Array.from({ length: line.length }, (_, x) => line.getCell(x)!)
    })
  }

  /** How the first place that shows a text looks. */
  lookOf(text: string): Look {
    for (const row of this.cells()) {
      const shown = row.map((cell) => (cell.getWidth() === 0 ? '' : cell.getChars() || ' '))
      const at = shown.join('').indexOf(text)
      if (at === -1) continue
      let column = 0
      for (let seen = 0; seen < at; column++) seen += shown[column]!.length
      const cell = row[column]!
      return {
        colour: cell.isFgDefault() ? undefined : cell.getFgColor(),
        bold: cell.isBold() !== 0,
        dim: cell.isDim() !== 0,
      }
    }
    throw new Error(`nowhere on the screen: ${text}`)
  }

  /** Ends a program that a failed test left behind. */
  kill(): void {
    try {
      this.#pty.kill()
    } catch {
      // It has ended already.
    }
  }
}
