import { spawn } from 'node:child_process'
import type { Context } from '../../command.ts'

/** Returns whether a browser can be opened where the command runs: not for a program, over SSH, or in CI. */
export function hasBrowser({ out, env }: Pick<Context, 'out' | 'env'>): boolean {
  return out.isTerminal && !env.SSH_CONNECTION && !env.CI
}

/** Returns the program that opens an address in the browser of a platform, with its arguments. */
export function browserCommand(platform: NodeJS.Platform, url: string): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', url]
  // `start` reads the first quoted word as a title, and `cmd` reads `&` as the end of a command.
  if (platform === 'win32') return ['cmd', '/c', 'start', '""', url.replaceAll('&', '^&')]
  return ['xdg-open', url]
}

/** Opens an address. If that fails, the address that was printed can be opened by hand. */
export function openBrowser(url: string): void {
  const [program, ...args] = browserCommand(process.platform, url)
  const options = { detached: true, stdio: 'ignore', windowsVerbatimArguments: true } as const
  try {
    const child = spawn(program, args, options)
    child.on('error', () => {})
    child.unref()
  } catch {
    // There is no such program.
  }
}
