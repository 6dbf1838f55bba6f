import { GITLEAKS_RULES } from './gitleaks-rules.ts'
import { Keywords } from './keywords.ts'
import { isSecretField, kindOf, namedSecrets } from './named-secrets.ts'
import { OWN_RULES, privateKeys } from './own-rules.ts'
import type { FoundSecret, SecretRule } from './rule.ts'
import { entropyOf } from './values.ts'

/*
 * Finds credentials in a text: by their form, as providers document it, and by the name of their field. Takes linear time: every pattern
 * has bounded repetitions, or repeats a set of characters that what follows isn't in.
 */

const RULES: readonly SecretRule[] = [...OWN_RULES, ...GITLEAKS_RULES]
const KEYWORDS = new Keywords(RULES.map(({ keywords = [] }) => keywords))

/** No credential is shorter, in UTF-16 units. */
const MIN_LENGTH = 6
/** The least entropy of the value of a field, in bits a character, unless its rule demands more. */
const MIN_FIELD_ENTROPY = 3

const NONE: readonly FoundSecret[] = []

/** Returns the credentials of a text in order; they don't overlap. `field`: the name of the JSON field that holds the text. */
export function findSecrets(text: string, field?: string): readonly FoundSecret[] {
  if (text.length < MIN_LENGTH) return NONE
  const found: FoundSecret[] = []
  const small = text.toLowerCase()
  for (const rule of KEYWORDS.listsIn(small)) addMatches(found, text, RULES[rule]!)
  if (small.includes('-----begin'))
    for (const [start, end] of privateKeys(text)) found.push({ kind: 'private-key', start, end })
  for (const one of namedSecrets(text, small)) found.push(one)
  if (field !== undefined && isSecretField(field, text))
    found.push({ kind: kindOf(field), start: 0, end: text.length })
  return found.length < 2 ? found : merged(found)
}

function addMatches(found: FoundSecret[], text: string, rule: SecretRule): void {
  const { kind, pattern, isSecret, notSecret, isField = false } = rule
  const least = isField ? Math.max(rule.entropy ?? 0, MIN_FIELD_ENTROPY) : (rule.entropy ?? 0)
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const group = match.findIndex((one, at) => at > 0 && one !== undefined && one !== '')
    const secret = match[group === -1 ? 0 : group]!
    if (isField && !/\d/.test(secret)) continue
    if (least > 0 && entropyOf(secret) < least) continue
    if (isSecret?.(secret) === false || notSecret?.test(secret) === true) continue
    const start = match.index + (group === -1 ? 0 : match[0].lastIndexOf(secret))
    found.push({ kind, start, end: start + secret.length })
  }
}

/** Joins overlapping credentials: the first rule that found one names it. */
function merged(found: readonly FoundSecret[]): FoundSecret[] {
  const order = new Map(found.map((one, at) => [one, at] as const))
  const joined: { kind: string; start: number; end: number; at: number }[] = []
  for (const one of found.toSorted((a, b) => a.start - b.start)) {
    const at = order.get(one)!
    const last = joined.at(-1)
    if (last === undefined || one.start >= last.end) {
      joined.push({ ...one, at })
      continue
    }
    last.end = Math.max(last.end, one.end)
    if (at < last.at) {
      last.kind = one.kind
      last.at = at
    }
  }
  return joined.map(({ kind, start, end }) => ({ kind, start, end }))
}
