import type { Terminal } from '../../test/cli/pty/terminal.ts'

/** A picture: a command, and what is done on its screen before it is drawn. */
export type Scene = {
  /** Of its file, without `.svg`. */
  readonly name: string
  /** On the window, and for those who cannot see it. */
  readonly title: string
  /** Behind `undertext`. */
  readonly command: string
  readonly columns?: number
  /** Lines that are drawn at most; the picture fades out where there are more. */
  readonly most?: number
  /** Default: the command's end is waited for. */
  play?(terminal: Terminal): Promise<void>
}

/** All pictures, in the order they are taken: what one changes in the store the next ones show. */
export const PICTURES: readonly Scene[] = [
  { name: 'sessions', title: 'undertext sessions', command: 'sessions' },
  {
    name: 'compact',
    title: 'undertext compact --dry-run',
    command: 'compact checkout --target 0.25 --dry-run',
  },
  { name: 'stats-bar', title: 'undertext stats', command: 'stats checkout' },
  {
    name: 'compact-question',
    title: 'undertext compact',
    command: 'compact checkout --target 0.25',
    play: agree,
  },
  {
    name: 'stats',
    title: 'undertext stats --model',
    command: 'stats checkout --model anthropic/claude-sonnet-4-5,openai/gpt-4o',
  },
  { name: 'log', title: 'undertext log', command: 'log checkout' },
  { name: 'diff', title: 'undertext diff', command: 'diff checkout @', most: 46 },
  {
    name: 'show',
    title: 'undertext show --full',
    command: 'show checkout --full --from 18 --to 28',
    most: 52,
  },
  {
    name: 'chat',
    title: 'undertext chat',
    command: 'chat poem --echo --model ollama/llama3.2 --context-window 330 --max-tokens 100',
    play: talk,
  },
]

async function agree(terminal: Terminal): Promise<void> {
  await terminal.sees('Compact now?')
  terminal.type('y')
  await terminal.exit()
}

/** Says the next thing when the last one is answered. */
async function talk(terminal: Terminal): Promise<void> {
  await terminal.sees(/> $/)
  for (const [said, shown] of TALK) {
    terminal.type(`${said}\r`)
    await terminal.sees(shown)
    await terminal.sees(/> $/)
  }
}

const LINES =
  'The river keeps its bed, the sea keeps every drop; and what was written first still lies beneath the top. '
const TALK: readonly (readonly [said: string, shown: string | RegExp])[] = [
  [LINES.repeat(2).trim(), 'Context: '],
  [LINES.trim(), 'Auto-compaction'],
  ['And now?', 'Compacted:'],
  ['/undo', 'Undone'],
]
