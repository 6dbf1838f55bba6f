/** What a shell takes as it is. */
const PLAIN = /^[\w@%+=:,./-]+$/

/**
 * A command as somebody can type it after us: what a shell would read in its own way stands in quotes, so that an id from a file cannot
 * become a command, and operands that look like options stand behind `--`.
 */
export function commandLine(command: string, ...operands: readonly string[]): string {
  const marks = operands.some((operand) => operand.startsWith('-')) ? ['--'] : []
  return ['undertext', command, ...marks, ...operands.map(shellWord)].join(' ')
}

/** A word in quotes where a POSIX shell needs them. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
