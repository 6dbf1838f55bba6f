import { headOf } from '../../messages/characters.ts'
import { type Call, isObject, mainArgument } from '../calls.ts'
import { oneLine, shorten } from '../text.ts'
import type { SeenCall } from './seen-call.ts'

/** Newest calls that are asked what their commands tell. */
export const NEWEST_CALLS = 2_000

/** The shell command a call runs, if it is that kind of call; no more than its first 2,000 units. */
export function shellCommand(call: Call): string | undefined {
  if (call.effect !== 'other' || !isObject(call.input)) return undefined
  if (call.input.command === undefined && call.input.cmd === undefined) return undefined
  const command = mainArgument(call.input)
  return command === undefined ? undefined : headOf(command, 2_000)
}

/** A shell command without the change of directory before it and the trimming of its output behind it. */
export function shellGist(command: string): string {
  return command
    .trim()
    .replace(/^cd [^&;|\n]{1,300}(?:&&|;)\s*/, '')
    .replace(/\|\s*(?:head|tail)\b[^|]{0,30}$/, '')
    .trimEnd()
    .replace(/2>&1$/, '')
    .trimEnd()
}

/** Shell commands that move, copy, make or remove files: changes that no editing tool shows. */
export function shellChanges(calls: readonly Call[]): string[] {
  const changes = new Set<string>()
  for (const call of calls.slice(-NEWEST_CALLS)) {
    if (call.result?.failed === true) continue
    const command = shellCommand(call)
    if (command === undefined) continue
    const [line = ''] = shellGist(command).split('\n')
    if (/^(?:git )?(?:mv|cp|rm|rename)\b|^sed -i|^(?:cat|tee)\b[^|]*>/.test(line)) {
      changes.add(shorten(oneLine(line), 160).replaceAll('`', "'"))
    }
  }
  return [...changes].slice(-8)
}

/** Subjects of the commits that calls made. */
export function commits(calls: readonly SeenCall[]): string[] {
  const subjects: string[] = []
  for (const call of calls) {
    const subject = call.kept === undefined ? commitSubject(call) : call.kept.commit
    if (subject !== undefined) subjects.push(subject)
  }
  return subjects.slice(-40)
}

/** The subject of the commit that a call made; `undefined` for every other call. */
export function commitSubject(call: Call): string | undefined {
  if (call.result?.failed === true) return undefined
  const command = shellCommand(call)
  if (command === undefined || !command.includes('git commit')) return undefined
  const subject = /git commit\b[^\n]{0,200}?-[a-z]*m\s*(?:"([^"]+)|'([^']+))/.exec(command)
  const text = subject?.[1] ?? subject?.[2]
  if (text === undefined || text.startsWith('$(')) return undefined
  return shorten(oneLine(text.split('\n')[0] ?? ''), 140)
}

/** The directory that commands change to most, when they name it in full. */
export function workingDirectory(calls: readonly Call[]): string | undefined {
  const counts = new Map<string, number>()
  let most: string | undefined
  for (const call of calls.slice(-NEWEST_CALLS)) {
    const path = /^\s*cd ((?:\/|~|[A-Za-z]:\\)[^\s&;|`]{1,200})/.exec(shellCommand(call) ?? '')?.[1]
    if (path === undefined) continue
    counts.set(path, (counts.get(path) ?? 0) + 1)
    if (most === undefined || counts.get(path)! > counts.get(most)!) most = path
  }
  return most
}

/** The branch that commands went to last. */
export function branch(calls: readonly Call[]): string | undefined {
  for (const call of calls.slice(-NEWEST_CALLS).reverse()) {
    const command = shellCommand(call) ?? ''
    const name = /\bgit (?:checkout -[bB]|switch(?: -c)?) ([\w./-]{1,100})/.exec(command)?.[1]
    if (name !== undefined && call.result?.failed !== true) return name
  }
  return undefined
}
