import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { partsOf } from '../../../src/core/messages/message.ts'
import { tombstonesIn } from '../../../src/core/retention/tombstone.ts'
import type { NewMessage, Part, RetentionReport, Store } from '../../../src/index.ts'
import { call, result, say, units } from '../../support/conversation.ts'
import { type Contract, refusal, S } from './support.ts'

const DAY_MS = 86_400_000
/** A time at which everything that a test stores is a day old. */
const tomorrow = (): number => Date.now() + DAY_MS
const OLD = { olderThanDays: 1 }

const NOTHING = { sessions: 0, rows: 0, parts: 0, bytes: 0 }

/** The classes of a report of which something was removed. */
function removedIn({ content }: RetentionReport): object {
  return Object.fromEntries(Object.entries(content).filter(([, { parts }]) => parts > 0))
}

const OUTPUT = units(2_000)
/** A turn with a large output, and one after it. */
const TALK = [
  say('user', 'go'),
  call('c1', 'read', { path: 'a.ts' }),
  result('c1', OUTPUT),
  say('assistant', 'so'),
  say('user', 'on'),
  say('assistant', 'done'),
]
/** The stored size of the output's part. */
const OUTPUT_BYTES = JSON.stringify(partsOf(result('c1', OUTPUT))[0]).length

async function talk(store: Store, id = S): Promise<void> {
  await store.append(id, TALK, { previewToolOutputs: false })
}

/** Hides the first turn; returns the id of the compaction. */
async function summarize(store: Store, id = S): Promise<string> {
  const done = await store.compactSession(id, { range: { from: 1, to: 4 }, summary: 'It read a.ts.' })
  return done!.compactions[0]!.id
}

async function part(store: Store, position: number, id = S): Promise<Part> {
  const rows = await store.getMessages(id)
  return partsOf(rows.find((row) => row.position === position)!)[0]!
}

async function sound(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) expect((await store.sessions.verify(id)).findings, id).toEqual([])
}

/** A model that checks what precedes its reasoning. */
const CHECKS = { provider: 'anthropic', model: 'claude-opus-5-5' } as const

/** A question and an answer with signed reasoning, recorded. */
async function exchange(store: Store, signature: string, size = 10): Promise<void> {
  const request = await store.prepareRequest(S, { ...CHECKS, auto: false, prompt: `Is it ${signature}?` })
  const reasoning = {
    type: 'reasoning',
    text: units(size),
    providerOptions: { anthropic: { signature } },
  } as const
  const messages: NewMessage[] = [{ role: 'assistant', content: [reasoning, { type: 'text', text: 'yes' }] }]
  await store.recordResponse(S, { request, messages, auto: false })
}

/** The signatures that the next request sends. */
async function signatures(store: Store): Promise<unknown[]> {
  const { messages } = await store.prepareRequest(S, { ...CHECKS, auto: false, prompt: 'and?' })
  return messages.flatMap((message) =>
    partsOf(message as NewMessage).flatMap((one) =>
      one.type === 'reasoning' ? [one.providerOptions?.anthropic?.signature] : [],
    ),
  )
}

/** Removal by age and size. */
export function describeRetention({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.histories)('retention', () => {
    it('leaves a tombstone of a hidden tool output, and the view as it was', async () => {
      const store = await open()
      await talk(store)
      const id = await summarize(store)
      const view = await store.getEffectiveHistory(S)
      const now = tomorrow()
      const rules = { toolOutputs: OLD }
      const dry = await store.privacy.applyRetention({ rules, now, dryRun: true })
      expect(removedIn(dry)).toEqual({ toolOutputs: { sessions: 1, rows: 1, parts: 1, bytes: OUTPUT_BYTES } })
      expect(await part(store, 3)).toEqual(partsOf(result('c1', OUTPUT))[0])

      const report = await store.privacy.applyRetention({ rules, now, actor: 'ann', reason: 'policy' })
      expect({ ...report, filesCleared: false }).toEqual({ ...dry, dryRun: false, filesCleared: false })
      expect(report).toMatchObject({ isComplete: true, sessions: 1 })
      expect(await part(store, 3)).toEqual({
        ...{ type: 'tool-result', toolCallId: 'c1' },
        output: { type: 'text', value: '[Tool output removed]' },
        providerOptions: {
          undertext: {
            retired: {
              ...{ rule: 'toolOutputs', bytes: OUTPUT_BYTES, tokens: 2_300, at: now },
              sha256: createHash('sha256').update(OUTPUT).digest('hex'),
            },
          },
        },
      })
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      expect((await store.sessions.audit(S)).at(-1)).toMatchObject({
        ...{ event: 'retired', actor: 'ann' },
        detail: { rows: 1, parts: { toolOutputs: 1 }, reason: 'policy' },
      })
      await sound(store, S)

      const again = await store.privacy.applyRetention({ rules, now })
      expect(removedIn(again)).toEqual({})
      expect(again).not.toHaveProperty('filesCleared')

      const error = await refusal(store.undoCompaction(S, id), 'CONTENT_RETIRED')
      const [, , output] = await store.getMessages(S)
      expect(error.facts).toEqual({
        ...{ sessionId: S, compactionId: id, messages: 1, parts: 1 },
        messageIds: [output!.id],
      })
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      expect((await store.sessions.audit(S)).at(-1)).toMatchObject({ event: 'retired' })
      await store.undoCompaction(S, id, { showRetired: true })
      const shown = await store.getEffectiveHistory(S)
      expect(shown).toHaveLength(6)
      expect(partsOf(shown[2]!)[0]).toEqual(await part(store, 3))
      await sound(store, S)
      await store.redoCompaction(S, id)
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      await sound(store, S)
    })

    it('lets undo give the exact original if nothing of it was removed', async () => {
      const store = await open()
      await talk(store)
      const before = await store.getEffectiveHistory(S)
      const id = await summarize(store)
      const rules = { toolOutputs: { ...OLD, largerThanBytes: OUTPUT_BYTES } }
      expect(removedIn(await store.privacy.applyRetention({ rules, now: tomorrow() }))).toEqual({})
      await store.undoCompaction(S, id)
      expect(await store.getEffectiveHistory(S)).toEqual(before)
    })

    it('removes the original of an output that the view shows as another text; undo then reports it', async () => {
      const store = await open()
      await talk(store)
      const done = await store.compactSession(S, {
        ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
        ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0 },
      })
      const { id } = done!.compactions[0]!
      const view = await store.getEffectiveHistory(S)
      const rules = { toolOutputs: OLD }
      expect(removedIn(await store.privacy.applyRetention({ rules, now: tomorrow() }))).toEqual({
        toolOutputs: { sessions: 1, rows: 1, parts: 1, bytes: OUTPUT_BYTES },
      })
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      await sound(store, S)
      await refusal(store.undoCompaction(S, id), 'CONTENT_RETIRED')
      await store.undoCompaction(S, id, { showRetired: true })
      await sound(store, S)
      await store.redoCompaction(S, id)
      expect(await store.getEffectiveHistory(S)).toEqual(view)
    })

    it('keeps what is visible, pinned or required, unless the rule says otherwise', async () => {
      const store = await open()
      const again = [call('c2', 'read', { path: 'a.ts' }), result('c2', OUTPUT)]
      await store.append(S, [...TALK, ...again, say('assistant', 'ok')], { previewToolOutputs: false })
      const now = tomorrow()
      const parts = async (rule: object, dryRun = true): Promise<number> =>
        (await store.privacy.applyRetention({ rules: { toolOutputs: { ...OLD, ...rule } }, now, dryRun }))
          .content.toolOutputs.parts
      expect(await parts({})).toBe(0)
      expect(await parts({ visible: true })).toBe(2)
      const [, , first] = await store.getMessages(S)
      await store.messages.pin(S, [first!.id])
      expect(await parts({ visible: true })).toBe(1)
      expect(await parts({ visible: true, pinned: true })).toBe(2)
      await store.messages.unpin(S, [first!.id])
      // The older read then points to the newer one.
      const done = await store.compactSession(S, {
        ...{ enablePrune: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
      })
      expect(done!.stagesUsed).toEqual(['deduplicate'])
      expect(await parts({ visible: true })).toBe(1)
      expect(await parts({ visible: true, required: true }, false)).toBe(2)
      await sound(store, S)
    })

    it('of what the view sent leaves out the reasoning that a model bound to it, and no other', async () => {
      const store = await open()
      await exchange(store, 'before')
      await talk(store)
      for (const signature of ['a', 'b']) await exchange(store, signature)
      const rules = { toolOutputs: { ...OLD, visible: true }, audit: OLD }
      await store.privacy.applyRetention({ rules, now: tomorrow(), dryRun: true })
      expect(await signatures(store)).toEqual(['before', 'a', 'b'])
      await store.privacy.applyRetention({ rules, now: tomorrow() })
      expect(await signatures(store)).toEqual(['before'])
      expect((await store.sessions.audit(S)).at(-1)).toMatchObject({ event: 'retired', detail: { sent: 1 } })
      await exchange(store, 'after')
      await store.compactSession(S, { ...CHECKS, range: { from: 1, to: 2 }, summary: 'It was.' })
      await store.privacy.applyRetention({ rules, now: tomorrow() + DAY_MS })
      expect(await signatures(store)).toEqual([])
      await exchange(store, 'last')
      expect(await signatures(store)).toEqual(['last'])
      await sound(store, S)
    })

    it('of reasoning leaves out what would follow a gap', async () => {
      const store = await open()
      await exchange(store, 'a')
      await exchange(store, 'b', 500)
      await exchange(store, 'c')
      await exchange(store, 'd')
      const rules = { reasoning: { largerThanBytes: 1_000, visible: true } }
      const { content } = await store.privacy.applyRetention({ rules, now: tomorrow() })
      expect(content.reasoning.parts).toBe(1)
      // c was made after b, so a and c can't be sent together; c and d are the longest part.
      expect(await signatures(store)).toEqual(['c', 'd'])
      await exchange(store, 'e')
      expect(await signatures(store)).toEqual(['c', 'd', 'e'])
      await sound(store, S)
    })

    it('of what the view did not send leaves out no reasoning', async () => {
      const store = await open()
      await exchange(store, 'before')
      await talk(store)
      await exchange(store, 'a')
      await store.compactSession(S, { ...CHECKS, range: { from: 3, to: 6 }, summary: 'It read a.ts.' })
      await exchange(store, 'b')
      const sent = await signatures(store)
      expect(sent).toEqual(['before', 'b'])
      const report = await store.privacy.applyRetention({
        rules: { hidden: OLD, toolOutputs: OLD },
        now: tomorrow(),
      })
      expect(report.content.toolOutputs.parts + report.content.hidden.parts).toBeGreaterThan(0)
      expect(await signatures(store)).toEqual(sent)
      await sound(store, S)
    })

    it('removes reasoning, images within outputs, and whole hidden rows with their fields', async () => {
      const store = await open()
      const image = (data: string): Part => ({ type: 'image', image: data.repeat(3_000) })
      const shot: Part = {
        ...{ type: 'tool-result', toolCallId: 'c1' },
        output: { type: 'content', value: [{ type: 'text', text: 'seen' }, image('iVBO') as never] },
      }
      await store.append(S, [
        { role: 'user', content: [{ type: 'text', text: 'look' }, image('QUJD')], metadata: { secret: 'x' } },
        {
          role: 'assistant',
          content: [{ type: 'reasoning', text: units(50) }, ...partsOf(call('c1', 'shot'))],
        },
        { role: 'tool', content: [shot] },
        say('assistant', 'a window'),
        say('user', 'on'),
        say('assistant', 'done'),
      ])
      await summarize(store)
      const view = await store.getEffectiveHistory(S)
      const now = tomorrow()
      const some = await store.privacy.applyRetention({ rules: { reasoning: OLD, media: OLD }, now })
      expect(removedIn(some)).toEqual({
        reasoning: { sessions: 1, rows: 1, parts: 1, bytes: 230 },
        // Each is 12,000 characters of base64.
        media: { sessions: 1, rows: 2, parts: 2, bytes: 18_000 },
      })
      const rows = await store.getMessages(S)
      expect(rows[0]).toMatchObject({ metadata: { secret: 'x' } })
      expect(partsOf(rows[0]!)[1]).toMatchObject({ type: 'text', text: '[Image removed]' })
      expect(partsOf(rows[1]!)[0]).toMatchObject({ type: 'reasoning', text: '' })
      expect(partsOf(rows[2]!)[0]).toMatchObject({
        output: { type: 'content', value: [{ text: 'seen' }, { type: 'text', text: '[Image removed]' }] },
      })
      await sound(store, S)
      const rest = await store.privacy.applyRetention({ rules: { hidden: OLD }, now })
      expect(rest.content.hidden).toMatchObject({ sessions: 1, rows: 4, parts: 4 })
      const [first, second] = await store.getMessages(S)
      expect(first).not.toHaveProperty('metadata')
      expect(partsOf(first!)[0]).toMatchObject({ type: 'text', text: '[Text removed]' })
      expect(partsOf(second!)[1]).toMatchObject({ type: 'tool-call', toolCallId: 'c1', input: {} })
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      await sound(store, S)
      expect(removedIn(await store.privacy.applyRetention({ rules: { hidden: OLD }, now }))).toEqual({})
    })

    it('counts the age of hidden rows since they were hidden, and takes the shortened texts of outputs too', async () => {
      const store = await open()
      const long = result('c1', `${'heron\n'.repeat(20_000)}`)
      const at = Date.now() - 100 * DAY_MS
      const appended = await store.append(
        S,
        [TALK[0]!, TALK[1]!, long, TALK[3]!, TALK[4]!, TALK[5]!].map((one) => ({ ...one, createdAt: at })),
      )
      expect(appended).toHaveProperty('preview')
      await summarize(store)
      const view = await store.getEffectiveHistory(S)
      const rules = { hidden: { olderThanDays: 90 } }
      expect(removedIn(await store.privacy.applyRetention({ rules }))).toEqual({})
      const now = Date.now() + 91 * DAY_MS
      expect((await store.privacy.applyRetention({ rules, now })).content.hidden).toMatchObject({ rows: 4 })
      expect((await store.getMessages(S, { shown: true })).map(({ shown }) => shown ?? [])).toEqual(
        Array.from({ length: 7 }, () => []),
      )
      expect((await store.search('heron')).hits).toEqual([])
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      await sound(store, S)
    })

    it('removes shared content only if the rules of every fork allow it', async () => {
      const store = await open()
      await talk(store)
      await store.sessions.fork(S, { id: 'fork' })
      const inForce = await summarize(store)
      const removed = async (): Promise<object> =>
        removedIn(await store.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow() }))
      // The fork still shows it.
      expect(await removed()).toEqual({})
      await summarize(store, 'fork')
      await store.sessions.update('fork', { config: { retention: false } })
      expect(await removed()).toEqual({})
      await store.sessions.update('fork', { config: null })
      expect(await removed()).toMatchObject({ hidden: { rows: 4 } })
      await sound(store, S, 'fork')
      await refusal(store.undoCompaction(S, inForce), 'CONTENT_RETIRED')
      const [copied] = await store.listCompactions('fork')
      await refusal(store.undoCompaction('fork', copied!.id), 'CONTENT_RETIRED')
      expect((await store.sessions.audit('fork')).map(({ event }) => event)).toContain('retired')
    })

    it('of a session precedes that of a call, which precedes that of the store; false exempts', async () => {
      const store = await open()
      for (const id of ['held', 'own', 'other']) {
        await store.append(id, TALK, { previewToolOutputs: false })
        await summarize(store, id)
      }
      await store.sessions.update('held', { config: { retention: false } })
      await store.sessions.update('own', { config: { retention: { toolOutputs: false, hidden: OLD } } })
      const report = await store.privacy.applyRetention({ rules: { toolOutputs: OLD }, now: tomorrow() })
      expect(removedIn(report)).toMatchObject({
        toolOutputs: { sessions: 1 },
        hidden: { sessions: 1, rows: 4 },
      })
      expect(tombstonesIn(await part(store, 3, 'held'))).toEqual([])
      expect(tombstonesIn(await part(store, 3, 'own'))).toMatchObject([{ rule: 'hidden' }])
      expect(tombstonesIn(await part(store, 3, 'other'))).toMatchObject([{ rule: 'toolOutputs' }])
    })

    it('removes archived sessions and those of subagents as a whole, with a receipt', async () => {
      const store = await open()
      const agent = { 'claude-code': { sessionId: 'x', agentId: 'y' } }
      await store.sessions.create({ id: 'agent', metadata: agent })
      for (const id of ['agent', 'archived', 'pinned', 'origin', 'live']) await talk(store, id)
      await store.sessions.fork('origin', { id: 'fork' })
      const [row] = await store.getMessages('pinned')
      await store.messages.pin('pinned', [row!.id])
      for (const id of ['archived', 'pinned', 'origin']) await store.sessions.archive(id)
      const rules = { archived: OLD, subagents: OLD }
      const now = tomorrow()
      const dry = await store.privacy.applyRetention({ rules, now, dryRun: true })
      expect(dry).toMatchObject({
        subagents: { sessions: 1, messages: 6 },
        archived: { sessions: 1, messages: 6 },
        kept: { withForks: 1, pinned: 1 },
      })
      const done = await store.privacy.applyRetention({ rules, now })
      expect(done).toMatchObject({ ...dry, dryRun: false })
      const ids = async (archived: boolean): Promise<string[]> =>
        (await store.sessions.list({ archived })).map(({ id }) => id).sort()
      expect(await ids(false)).toEqual(['fork', 'live'])
      expect(await ids(true)).toEqual(['origin', 'pinned'])
      await talk(store, 'archived')
      await sound(store, 'archived', 'fork', 'origin', 'live')
    })

    it('removes old requests whose answers the view no longer shows, and old entries of the audit', async () => {
      const store = await open()
      const turn = async (text: string): Promise<void> => {
        const request = await store.prepareRequest(S, { prompt: text, system: `You are ${text}.` })
        const messages = [say('assistant', 'yes')]
        await store.recordResponse(S, { request, messages, usage: { inputTokens: 10 } })
      }
      for (const text of ['one', 'two', 'three']) await turn(text)
      expect(await store.requests.list(S)).toHaveLength(3)
      await store.sessions.archive(S)
      await store.sessions.archive(S, false)
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'They said yes.' })
      const now = tomorrow()
      const rules = { requests: OLD, audit: OLD }
      const report = await store.privacy.applyRetention({ rules, now })
      expect(report).toMatchObject({
        requests: { sessions: 1, requests: 2 },
        audit: { sessions: 1, entries: 2 },
      })
      const [left] = await store.requests.list(S)
      expect(await store.requests.get(S, left!.id)).toMatchObject({ matches: true })
      await turn('four')
      expect((await store.requests.list(S)).map(({ id }) => id.slice(-2))).toEqual(['r3', 'r4'])
      await sound(store, S)
    })

    it('goes on after its budget where it stopped, and finds nothing when it is repeated', async () => {
      const store = await open()
      const ids = ['a', 'b', 'c', 'd']
      for (const id of ids) {
        await talk(store, id)
        await summarize(store, id)
      }
      const rules = { hidden: OLD }
      const now = tomorrow()
      let cursor: string | undefined
      let rows = 0
      let calls = 0
      do {
        const report = await store.privacy.applyRetention({
          rules,
          now,
          budgetMs: 1,
          ...(cursor && { cursor }),
        })
        rows += report.content.hidden.rows
        cursor = report.cursor
        expect(report.isComplete).toBe(cursor === undefined)
        calls += 1
      } while (cursor !== undefined && calls < 200)
      expect(rows).toBe(16)
      const again = await store.privacy.applyRetention({ rules, now })
      expect(again).toMatchObject({ sessions: 4, content: { hidden: NOTHING } })
      await sound(store, ...ids)
    })

    it('is applied to the sessions of all owners, also of the same id, or to those of one', async () => {
      const store = await open()
      for (const owner of ['ann', 'bob']) {
        const own = store.forOwner(owner)
        await talk(own, 'same')
        await summarize(own, 'same')
        await own.sessions.create({ id: 'old' })
        await own.sessions.archive('old')
      }
      const rules = { hidden: OLD, archived: OLD }
      const now = tomorrow()
      const ofAnn = { sessions: 2, content: { hidden: { sessions: 1, rows: 4 } }, archived: { sessions: 1 } }
      expect(await store.privacy.applyRetention({ rules, now, owner: 'ann', dryRun: true })).toMatchObject(
        ofAnn,
      )
      const all: RetentionReport[] = []
      for (
        let cursor: string | undefined, calls = 0;
        calls === 0 || (cursor !== undefined && calls < 50);
        calls++
      ) {
        const report = await store.privacy.applyRetention({
          rules,
          now,
          budgetMs: 1,
          ...(cursor && { cursor }),
        })
        all.push(report)
        cursor = report.cursor
      }
      expect(all.reduce((sum, { content }) => sum + content.hidden.rows, 0)).toBe(8)
      expect(all.reduce((sum, { archived }) => sum + archived.sessions, 0)).toBe(2)
      for (const owner of ['ann', 'bob']) {
        const own = store.forOwner(owner)
        expect(tombstonesIn(await part(own, 3, 'same'))).toHaveLength(1)
        await sound(own, 'same')
        expect(await own.sessions.list({ archived: true })).toEqual([])
      }
      await expect(store.forOwner('ann').privacy.applyRetention({ owner: 'bob' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
    })

    it('is in exports and comes back from them', async () => {
      const store = await open()
      await talk(store)
      await summarize(store)
      await store.privacy.applyRetention({ rules: { hidden: OLD }, now: tomorrow() })
      const stored = await store.getMessages(S)
      await store.sessions.import(store.sessions.export(S), { id: 'copy' })
      const copied = await store.getMessages('copy')
      expect(copied.map(({ content }) => content)).toEqual(stored.map(({ content }) => content))
      const [inForce] = await store.listCompactions('copy')
      await refusal(store.undoCompaction('copy', inForce!.id), 'CONTENT_RETIRED')
      await sound(store, 'copy')
    })
  })
}
