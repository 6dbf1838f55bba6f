/** The examples at the end of a command's help: what is typed, and what it does. */
export function examples(lines: readonly (readonly [typed: string, does: string])[]): string {
  return `\nExamples:\n${lines.map(([typed, does]) => `  $ undertext ${typed}\n      ${does}`).join('\n')}\n`
}
