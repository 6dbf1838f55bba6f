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
