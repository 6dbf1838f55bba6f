import fc from 'fast-check'
import { SESSION } from '../../claude-agent-sdk/entries.ts'
import { answer, boundary, call, result, summary, user } from './claude-code-entries.ts'

/* Sessions of Claude Code in which somebody goes back and forth at will. */

type Entry = { readonly uuid: string; readonly parentUuid: string | null } & object

/** What somebody does: says something, calls tools side by side, goes back to an entry, compacts. */
type Act = { readonly act: 'turn' | 'tools' | 'back' | 'compact'; readonly at: number }
export const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    act: fc.constantFrom(
      'turn' as const,
      'turn' as const,
      'tools' as const,
      'back' as const,
      'compact' as const,
    ),
    at: fc.nat({ max: 1_000 }),
  }),
  { minLength: 1, maxLength: 14 },
)

/** A file of such acts. Uuids are as Claude Code has them. */
export function fileOf(all: readonly Act[], cwd: string): Entry[] {
  const entries: Entry[] = []
  let leaf: string | null = null
  const next = (): string => `00000000-0000-4000-8000-${String(entries.length + 1).padStart(12, '0')}`
  const add = (make: (uuid: string) => object): string => {
    const uuid = next()
    entries.push({ ...make(uuid), sessionId: SESSION, cwd } as unknown as Entry)
    return uuid
  }
  /** Ends of turns: where one can go back to. */
  const ends: string[] = []
  const say = (): void => {
    const asked = add((uuid) => user(uuid, leaf))
    leaf = add((uuid) => answer(uuid, asked))
    ends.push(leaf)
  }
  for (const { act, at } of all) {
    if (act === 'turn' || leaf === null) say()
    else if (act === 'tools') {
      const asked: string = add((uuid) => user(uuid, leaf))
      const answerId = `m-${asked}`
      const first = add((uuid) => call(uuid, asked, answerId))
      const second = add((uuid) => call(uuid, first, answerId))
      const brought = add((uuid) => result(uuid, first, first))
      const last = add((uuid) => result(uuid, second, second))
      leaf = add((uuid) => answer(uuid, at % 2 === 0 ? last : brought))
      ends.push(leaf)
    } else if (act === 'back') {
      leaf = at % 7 === 0 ? null : ends[at % ends.length]!
      say()
    } else {
      const before: string = leaf
      const start = add((uuid) => boundary(uuid, before))
      leaf = add((uuid) => summary(uuid, start))
      say()
    }
  }
  return entries
}
