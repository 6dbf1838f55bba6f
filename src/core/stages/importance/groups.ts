import type { Part, ToolCallPart } from '../../messages/message.ts'
import { TextAgentReader } from '../../messages/text-agent.ts'
import { coversRange, type IndexedCall, normalizePath } from '../../model/line-range.ts'
import { isRequest } from '../../model/tool-groups.ts'
import type { View } from '../../model/view.ts'
import type { LineRange, ViewRow } from '../../model/view-row.ts'
import { factsOf, type RowFacts, roleOf } from './facts.ts'
import {
  type GroupRole,
  type ImportanceWeights,
  POINTS,
  SIGNALS,
  type Signal,
  usesSignals,
} from './weights.ts'

/** The default scorer. Its name and version are part of every score. */
export const DEFAULT_SCORER = { name: 'undertext', version: '1' } as const

/** One summand of a score. */
export type ImportanceReason = {
  /** The role (`user`, `tool` …), a signal (`constraint` …), `limit` if the sum left the range 0 to 1, or a custom scorer's own name. */
  readonly reason: string
  readonly weight: number
}

/** A group with its score. */
export type ScoredGroup = Group & {
  /** From 0 to 1, without recency. */
  readonly importance: number
  /** The summands, which add up to `importance` exactly. */
  readonly reasons: readonly ImportanceReason[]
}

/**
 * Scores the groups of a view: the points of the role, raised and lowered by signals, limited to the range 0 to 1. The same rows and
 * weights give the same scores. `contentOf` returns the original parts of a row; it is not called if no signal has a weight and
 * `needsSignals` is not set.
 */
export function scoreView(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
  needsSignals = usesSignals(weights),
): ScoredGroup[] {
  const groups = needsSignals ? groupsOf(view, contentOf) : bareGroupsOf(view)
  return groups.map((group) => ({ ...group, ...assess(group.role, group.signals, weights) }))
}

/** Returns the score of a role and its signals, limited to the range 0 to 1: the excess is a summand too. */
function assess(
  role: GroupRole,
  signals: ReadonlyMap<Signal, number>,
  { base, signals: points }: ImportanceWeights,
): Pick<ScoredGroup, 'importance' | 'reasons'> {
  if (staysAlways(role)) return { importance: 1, reasons: [{ reason: role, weight: 1 }] }
  const reasons: ImportanceReason[] = [{ reason: role, weight: base[role] / POINTS }]
  for (const signal of SIGNALS) {
    const weight = ((signals.get(signal) ?? 0) * points[signal]) / POINTS
    if (weight !== 0) reasons.push({ reason: signal, weight })
  }
  const sum = sumOf(reasons)
  const importance = Math.min(1, Math.max(0, sum))
  if (importance === sum) return { importance, reasons }
  reasons.push({ reason: 'limit', weight: importance - sum })
  return { importance, reasons }
}

/** Returns whether a group with this role is never ranked: system messages, and rows inserted by compactions. */
export function staysAlways(role: GroupRole): role is 'system' | 'inserted' {
  return role === 'system' || role === 'inserted'
}

/** Returns the sum of a score's summands, added in their order. */
export function sumOf(reasons: readonly ImportanceReason[]): number {
  return reasons.reduce((sum, { weight }) => sum + weight, 0)
}

/**
 * Returns the rank of a group: its importance in points plus recency, where r = (index + 1) / count. Without signals the rank is 100 +
 * 50r for a user's message, for example. Infinite for groups that always stay.
 */
export function rankOf(group: ScoredGroup, count: number, { recency }: ImportanceWeights): number {
  const { role } = group
  if (staysAlways(role)) return Number.POSITIVE_INFINITY
  return group.importance * POINTS + recency[role] * ((group.at + 1) / count)
}

/** Returns groups from the lowest rank to the highest, oldest first among equals, for stages that hide one after the other. */
export function lowestFirst(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
): ScoredGroup[] {
  const groups = scoreView(view, contentOf, weights)
  const ranks = new Map(groups.map((group) => [group, rankOf(group, view.rows.length, weights)] as const))
  return groups.sort((a, b) => ranks.get(a)! - ranks.get(b)!)
}

/** The most later reads of a file with which an earlier read is compared. */
const MAX_LATER_READS = 8

/** Returns the rows with failed results, and the signals of the calls of a group. */
function callFacts(view: View, facts: readonly RowFacts[]) {
  const errors = new Set<number>()
  const failedCalls = new Set<string>()
  const answered = new Set<string>()
  for (const [index, row] of view.rows.entries()) {
    for (const { part } of row.results) {
      const call = view.turns.callOf(index, part)
      if (call !== undefined) answered.add(`${call.row}:${call.part}`)
      if (!facts[index]!.failed.has(part)) continue
      errors.add(index)
      if (call !== undefined) failedCalls.add(`${call.row}:${call.part}`)
    }
  }
  const repeated = repeatedReads(view, facts, (key) => answered.has(key) && !failedCalls.has(key))

  /** Applies only if all calls of the group are of the kind. */
  const worthOf = (indexes: readonly number[]): 'repeatedRead' | 'listing' | undefined => {
    let worth: 'repeatedRead' | 'listing' | undefined
    for (const index of indexes) {
      for (const { part } of view.rows[index]!.calls) {
        if (repeated.has(`${index}:${part}`)) worth = 'repeatedRead'
        else if (facts[index]!.listings.has(part)) worth ??= 'listing'
        else return undefined
      }
    }
    return worth
  }
  return { errors, worthOf }
}

/** Returns calls whose lines a later successful call reads again. */
function repeatedReads(
  view: View,
  facts: readonly RowFacts[],
  succeeded: (key: string) => boolean,
): ReadonlySet<string> {
  const repeated = new Set<string>()
  const later = new Map<string, LineRange[]>()
  for (let index = view.rows.length - 1; index >= 0; index--) {
    for (const call of view.rows[index]!.calls as readonly IndexedCall[]) {
      if (call.path === undefined || !facts[index]!.reads.has(call.part)) continue
      const range = call.range ?? { from: 1 }
      const file = `${normalizePath(call.path)}\n${call.variant ?? ''}`
      const known = later.get(file) ?? []
      if (known.some((read) => coversRange(read, range))) repeated.add(`${index}:${call.part}`)
      else if (succeeded(`${index}:${call.part}`) && known.length < MAX_LATER_READS)
        later.set(file, [...known, range])
    }
  }
  return repeated
}

/** A unit that is ranked, kept and hidden as a whole: a message or a tool group. */
export type Group = {
  /** Indexes of its rows in the view, ascending. */
  readonly indexes: readonly number[]
  /** The role of its most important row: a call and its results count as the call. */
  readonly role: GroupRole
  /** The index that determines its recency: that of its newest row with that role. */
  readonly at: number
  readonly pinned: boolean
  /** The number of occurrences of each signal; absent if there are none. */
  readonly signals: ReadonlyMap<Signal, number>
}

/** Roles, most important first. */
const ROLE_ORDER: readonly GroupRole[] = [
  'system',
  'inserted',
  'user',
  'assistantWithToolCalls',
  'assistant',
  'tool',
  'other',
]

/** The most later groups that are counted as references to a group. */
const MAX_REFERENCES = 3

/** Returns the groups of a view in order, with their signals. Takes time linear in the size of the contents read. */
export function groupsOf(view: View, contentOf: (row: ViewRow) => readonly Part[]): Group[] {
  const textAgent = new TextAgentReader()
  const facts = view.rows.map((row, index) => {
    const parts = contentOf(row)
    const speaks = row.kind === 'message' && (row.role === 'assistant' || isRequest(row))
    const isObservation = speaks && textAgent.read({ role: row.role, content: parts }).role === 'tool'
    const callOf = (part: number): ToolCallPart | undefined => {
      const call = view.turns.callOf(index, part)
      const found = call && contentOf(view.rows[call.row]!)[call.part]
      return found?.type === 'tool-call' ? found : undefined
    }
    return factsOf(row, parts, isRequest(row) && !isObservation, callOf)
  })
  const answers = answeringRows(view, facts)
  const first = firstRequest(view, facts)
  const calls = callFacts(view, facts)
  const citing = new Map<string, number>()
  // From the newest group: references of later groups are known when a group is reached.
  const groups = membersOf(view)
    .reverse()
    .map((indexes): Group => {
      const own = indexes.map((index) => facts[index]!)
      const has = (holds: (row: RowFacts) => boolean): number => (own.some(holds) ? 1 : 0)
      const failed = indexes.some((index) => calls.errors.has(index))
      const isMore = failed || own.some((row) => row.write || row.isRequest)
      const worth = isMore ? undefined : calls.worthOf(indexes)
      const counts: Readonly<Record<Signal, number>> = {
        firstRequest: first !== undefined && indexes.includes(first) ? 1 : 0,
        constraint: has((row) => row.constraint),
        decision: has((row) => row.decision),
        error: failed ? 1 : 0,
        write: has((row) => row.write),
        answer: indexes.some((index) => answers.has(index)) ? 1 : 0,
        image: has((row) => row.image),
        referenced: referencesTo(own, citing),
        repeatedRead: worth === 'repeatedRead' ? 1 : 0,
        listing: worth === 'listing' ? 1 : 0,
      }
      cite(own, citing)
      const signals = new Map(
        SIGNALS.filter((name) => counts[name] > 0).map((name) => [name, counts[name]] as const),
      )
      return { indexes, ...weightiest(indexes, own), pinned: isPinned(view, indexes), signals }
    })
  return groups.reverse()
}

/** Returns groups by roles and pins alone, without reading contents. */
export function bareGroupsOf(view: View): Group[] {
  const signals: ReadonlyMap<Signal, number> = new Map()
  return membersOf(view).map((indexes) => {
    const own = indexes.map((index) => ({ role: roleOf(view.rows[index]!) }))
    return { indexes, ...weightiest(indexes, own), pinned: isPinned(view, indexes), signals }
  })
}

function membersOf(view: View): (readonly number[])[] {
  const groups: (readonly number[])[] = []
  for (let index = 0; index < view.rows.length; index++) {
    const group = view.turns.groupOf(index)
    if (group[0] === index) groups.push(group)
  }
  return groups
}

function isPinned(view: View, indexes: readonly number[]): boolean {
  return indexes.some((index) => view.rows[index]!.pinned)
}

function weightiest(
  indexes: readonly number[],
  own: readonly Pick<RowFacts, 'role'>[],
): { role: GroupRole; at: number } {
  let role: GroupRole = 'other'
  let at = indexes[0]!
  for (const [place, facts] of own.entries()) {
    if (ROLE_ORDER.indexOf(facts.role) > ROLE_ORDER.indexOf(role)) continue
    role = facts.role
    at = indexes[place]!
  }
  return { role, at }
}

/** Returns the index of the user's first message, unless a summary already replaces it. */
function firstRequest(view: View, facts: readonly RowFacts[]): number | undefined {
  for (const [index, row] of view.rows.entries()) {
    if (row.kind === 'summary') return undefined
    if (facts[index]!.isRequest) return index
  }
  return undefined
}

/** Returns the rows that answer a question: the user's answer to the model, or the model's answer to the user without calls. */
function answeringRows(view: View, facts: readonly RowFacts[]): ReadonlySet<number> {
  const answering = new Set<number>()
  let asker: 'user' | 'assistant' | undefined
  for (const [index, row] of view.rows.entries()) {
    const { isRequest, asks } = facts[index]!
    if (isRequest) {
      if (asker === 'assistant') answering.add(index)
      asker = asks ? 'user' : undefined
    } else if (row.kind === 'message' && row.role === 'assistant' && row.speaks && row.calls.length === 0) {
      if (asker === 'user') answering.add(index)
      asker = asks ? 'assistant' : undefined
    }
  }
  return answering
}

/** Returns the number of later groups that refer to a group by its most used name, at most three. */
function referencesTo(own: readonly RowFacts[], citing: ReadonlyMap<string, number>): number {
  let most = 0
  for (const { names, mentions } of own) {
    for (const name of names) most = Math.max(most, citing.get(name) ?? 0)
    for (const name of mentions) most = Math.max(most, citing.get(name) ?? 0)
    if (most >= MAX_REFERENCES) return MAX_REFERENCES
  }
  return Math.min(MAX_REFERENCES, most)
}

function cite(own: readonly RowFacts[], citing: Map<string, number>): void {
  const mentioned = new Set<string>()
  for (const { mentions } of own) for (const name of mentions) mentioned.add(name)
  for (const name of mentioned) citing.set(name, (citing.get(name) ?? 0) + 1)
}
