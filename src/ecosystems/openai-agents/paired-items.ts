import type { JsonObject } from '../../messages/json.ts'

/*
 * Items that are calls of a tool or results of one, besides those of functions. As calls and results their pairs are kept whole by
 * every stage, and others can read them.
 */

/** Calls: the name the tool gets, and the fields its input is made of. */
export const CALLS: ReadonlyMap<unknown, { readonly tool: string; readonly input: readonly string[] }> =
  new Map(
    Object.entries({
      computer_call: { tool: 'computer', input: ['action', 'actions'] },
      shell_call: { tool: 'shell', input: ['action'] },
      apply_patch_call: { tool: 'apply_patch', input: ['operation'] },
      program: { tool: 'program', input: ['code'] },
    }),
  )

/** Results: the name of their tool. */
export const RESULTS: ReadonlyMap<unknown, string> = new Map([
  ['computer_call_result', 'computer'],
  ['shell_call_output', 'shell'],
  ['apply_patch_call_output', 'apply_patch'],
  ['program_output', 'program'],
])

/** Some fields of an object, and the others. */
export function parted(value: JsonObject, names: readonly string[]): readonly [JsonObject, JsonObject] {
  const entries = Object.entries(value)
  const isNamed = ([name]: (typeof entries)[number]): boolean => names.includes(name)
  return [
    Object.fromEntries(entries.filter(isNamed)),
    Object.fromEntries(entries.filter((entry) => !isNamed(entry))),
  ]
}
