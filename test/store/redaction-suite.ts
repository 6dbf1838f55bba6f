import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HistoryRecord, NewMessage, OpenOptions, Part, Store } from '../../src/index.ts'
import type { ImportEvent } from '../../src/store/history/import/import-types.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { failureOf } from '../support/failures.ts'

/* What a store with `redact` keeps of credentials, on any engine: nothing, in any of its bytes. */

/** A place for stores, whose bytes can be read. */
export type Ground = {
  open(options: OpenOptions): Promise<Store>
  /** Everything that is stored, as one text. */
  bytes(): Promise<string>
}

/** Two credentials that gitleaks knows, and a password that only its field tells. */
const TOKEN = `ghp_${'aB3dE5gH7jK9mN1pQ2rS'.slice(0, 18)}${'tU4vW6xY8zA1bC3dE5'}`
const KEY = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
const PASSWORD = 'Winter-kestrel-4711!'
const SECRETS = [TOKEN, KEY, PASSWORD]
const base64 = (text: string): string => Buffer.from(text).toString('base64')

export function redactionSuite(name: string, start: () => Promise<Ground>): void {
  describe(`redact on ${name}`, () => {
    let ground: Ground
    let store: Store
    beforeEach(async () => {
      ground = await start()
      store = await ground.open({ redact: 'secrets', env: false })
    })
    afterEach(() => store.close())

    const leaked = async (): Promise<string[]> => {
      const bytes = (await ground.bytes()).toLowerCase()
      return SECRETS.filter((secret) => bytes.includes(secret.toLowerCase()))
    }
    const contents = async (session = 's'): Promise<unknown[]> =>
      (await store.getMessages(session)).map(({ content }) => content)
    const isSound = async (session = 's'): Promise<void> =>
      expect((await store.sessions.verify(session)).findings).toEqual([])

    it('replaces credentials in every text of a message, and records kinds and numbers', async () => {
      await store.append('s', [
        say('user', `use ${TOKEN} and ${TOKEN}`),
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: `the key is ${KEY}` },
            {
              type: 'tool-call',
              toolCallId: '1',
              toolName: 'login',
              input: { db: { password: PASSWORD }, [TOKEN]: [KEY] },
            },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: '1',
              output: { type: 'json', value: { text: `token: ${TOKEN}` } },
            },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'file',
              data: base64(`STRIPE=${KEY}\n${'x '.repeat(3_000)}`),
              mediaType: 'text/plain',
              filename: 'a.env',
            },
          ],
          metadata: { note: KEY },
        },
        say('user', 'nothing here'),
      ])
      const [github, stripe] = ['[redacted: github-pat]', '[redacted: stripe-access-token]']
      expect(await contents()).toEqual([
        `use ${github} and ${github}`,
        [
          { type: 'reasoning', text: `the key is ${stripe}` },
          {
            type: 'tool-call',
            toolCallId: '1',
            toolName: 'login',
            input: { db: { password: '[redacted: password]' }, [github]: [stripe] },
          },
        ],
        [
          {
            type: 'tool-result',
            toolCallId: '1',
            output: { type: 'json', value: { text: `token: ${github}` } },
          },
        ],
        [
          {
            type: 'file',
            data: base64(`STRIPE=${stripe}\n${'x '.repeat(3_000)}`),
            mediaType: 'text/plain',
            filename: 'a.env',
          },
        ],
        'nothing here',
      ])
      expect(await leaked()).toEqual([])
      expect((await store.sessions.audit('s')).map(({ event, detail }) => ({ event, detail }))).toEqual([
        {
          event: 'redacted',
          detail: {
            kinds: { 'github-pat': 4, password: 1, 'stripe-access-token': 4 },
            positions: [1, 2, 3, 4],
          },
        },
      ])
      await isSound()
    })

    it('appends a repeated message once: the redacted bodies are compared', async () => {
      const message = { ...say('user', `my key: ${KEY}`), idempotencyKey: 'k' }
      const first = await store.append('s', [message])
      expect((await store.append('s', [message])).messages).toEqual([
        { ...first.messages[0], existing: true },
      ])
      const other = { ...message, content: `your key: ${KEY}` }
      expect(await failureOf(() => store.append('s', [other]))).toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      })
      expect(await store.sessions.audit('s')).toHaveLength(1)
    })

    it('keeps nothing of what is written with a session, its notes, requests, compactions and search', async () => {
      const secret = `token=${TOKEN}`
      await store.sessions.create({ id: 's', title: secret, metadata: { secret }, owner: 'ann' })
      await store.append('s', [...chat(6), call('1', 'run', { secret }), result('1', secret)])
      await store.sessions.update('s', { title: `again ${secret}`, metadata: { password: PASSWORD } })
      await store.notes.add(secret, { session: 's', metadata: { password: PASSWORD }, key: 'k' })
      await store.notes.add(secret, { owner: 'ann' })
      await store.messages.pin('s', [(await store.getMessages('s'))[0]!.id], { reason: secret })
      await store.compactSession('s', {
        range: { from: 2, to: 5 },
        summary: `They said ${secret}.`,
        reason: secret,
      })
      const hidden = (await store.getMessages('s')).filter(
        ({ position }) => position === 9 || position === 10,
      )
      const { id: compactionId } = await store.compactions.hide(
        's',
        hidden.map(({ id }) => id),
        { reason: secret },
      )
      await store.undoCompaction('s', compactionId, { reason: secret })
      await store.rewind('s', { from: 'end', append: [say('user', secret)], reason: secret })
      await store.sessions.fork('s', { id: 'fork', title: secret })
      await store.append('fork', [say('user', 'on')])
      await store.sessions.bringBack('fork', { text: secret })
      const request = await store.prepareRequest('s', {
        prompt: secret,
        system: secret,
        tools: [{ name: 't', description: secret }],
      })
      await store.recordResponse('s', {
        request,
        messages: [say('assistant', secret)],
        usage: { inputTokens: 9, outputTokens: 9 },
      })
      expect((await store.search('token')).hits.length).toBeGreaterThan(0)
      expect(await leaked()).toEqual([])
      expect((await store.sessions.get('s')).title).toBe('again token=[redacted: github-pat]')
      const [summary] = (await store.getEffectiveHistory('s')).filter(({ kind }) => kind === 'summary')
      expect(summary!.content).toMatch(/^They said token=\[redacted: github-pat\]\./)
      await isSound()
      await isSound('fork')
    })

    it('redacts what a summarizer, a stage and an import bring, and the sizes are those of what is stored', async () => {
      await store.append('s', [...chat(8, 40), call('1', 'run'), result('1', units(400)), ...chat(2)])
      const summarizer = { name: 'own', usesModel: true, summarize: async () => ({ text: `Key ${KEY}.` }) }
      await store.compactSession('s', {
        summarizer,
        targetTokens: 100,
        enablePrune: false,
        enableTruncate: false,
      })
      const stage = {
        name: 'own',
        plan: (view: { rows: readonly { position?: number }[] }) => ({
          replace: view.rows
            .filter(({ position }) => position === 18)
            .map((row) => ({ row, part: 0, text: `see ${TOKEN}` })),
        }),
      }
      await store.compactSession('s', { stages: [stage as never], targetTokens: 1 })
      const events: ImportEvent[] = [
        { type: 'message', message: { ...say('user', `a ${TOKEN}`), idempotencyKey: 'a' } },
        { type: 'message', message: { ...say('assistant', `b ${units(60)}`), idempotencyKey: 'b' } },
        {
          type: 'compaction',
          compaction: { id: 'c', kind: 'condense', covers: [[1, 2]], text: `Key ${KEY}` },
        },
      ] as never
      await store.sessions.import(events, { id: 'imported', source: 'elsewhere' })
      expect(await leaked()).toEqual([])
      await isSound()
      await isSound('imported')
      expect(JSON.stringify(await store.getEffectiveHistory('s'))).toContain(
        'Key [redacted: stripe-access-token].',
      )
      const again = await store.sessions.import(events, { id: 'imported', source: 'elsewhere' })
      expect(again).toMatchObject({ status: 'unchanged', messages: 0 })
    })

    it('redacts a restored history, and recognizes it when it is restored again', async () => {
      const plain = await (await start()).open({ env: false })
      const secret = `token=${TOKEN}`
      await plain.sessions.create({ id: 's', title: secret, metadata: { secret } })
      await plain.append('s', [
        say('user', secret),
        ...chat(5),
        { role: 'user', content: [{ type: 'file', data: Buffer.from(secret), mediaType: 'text/plain' }] },
      ])
      await plain.compactSession('s', { range: { from: 1, to: 4 }, summary: secret, reason: secret })
      await plain.notes.add(secret, { session: 's' })
      const request = await plain.prepareRequest('s', { prompt: secret, system: secret })
      await plain.recordResponse('s', { request, prompt: [], messages: [say('assistant', 'ok')] })
      const records: HistoryRecord[] = []
      for await (const record of plain.sessions.export('s')) records.push(record)
      expect(JSON.stringify(records)).toContain(TOKEN)
      await plain.close()

      expect(await store.sessions.import(records)).toMatchObject({ existing: false })
      expect(await leaked()).toEqual([])
      await isSound()
      expect(await store.sessions.import(records)).toMatchObject({ existing: true })
      const [recorded] = await store.requests.list('s')
      expect((await store.requests.get('s', recorded!.id)).system).toBe('token=[redacted: github-pat]')
    })

    it('records a request whose prompt was sent as typed with the hash of what is stored, and says so', async () => {
      const ask = async (prompt: string) => {
        const request = await store.prepareRequest('s', { prompt })
        expect(JSON.stringify(request.messages)).toContain(prompt)
        const { requestId } = await store.recordResponse('s', { request, messages: [say('assistant', 'ok')] })
        return store.requests.get('s', requestId!)
      }
      expect(await ask('hello')).toMatchObject({ matches: true })
      const redacted = await ask(`use ${KEY}`)
      expect(redacted).toMatchObject({ matches: false, reason: 'redacted' })
      expect(JSON.stringify(redacted.messages)).toContain('use [redacted: stripe-access-token]')
      expect(await ask('and now?')).toMatchObject({ matches: true })
    })

    it('scans what was stored without it: kinds, numbers and places', async () => {
      await store.close()
      store = await ground.open({ env: false })
      await store.sessions.create({ id: 's', owner: 'ann', title: `t ${KEY}` })
      const { messages } = await store.append('s', [
        say('user', `a ${TOKEN} b ${TOKEN}`),
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'x' },
            { type: 'text', text: KEY },
          ],
          metadata: { k: TOKEN },
        },
        ...chat(4),
      ])
      const { compactions } = (await store.compactSession('s', {
        range: { from: 3, to: 6 },
        summary: `k ${KEY}`,
        reason: `r ${KEY}`,
      }))!
      await store.undoCompaction('s', compactions[0]!.id)
      const note = await store.notes.add(`n ${TOKEN}`, { session: 's' })
      const other = await store.notes.add(`n ${TOKEN}`, { owner: 'ann' })
      await store.append('clean', [say('user', 'hi')])
      await store.sessions.archive('s')
      expect(await leaked()).toEqual([TOKEN, KEY])
      const found = []
      for await (const one of store.privacy.scan()) found.push(one)
      const [github, stripe] = [{ 'github-pat': 1 }, { 'stripe-access-token': 1 }]
      const [summary] = (await store.getMessages('s')).filter(({ kind }) => kind === 'summary')
      expect(found).toEqual([
        { sessionId: 's', place: 'session', found: stripe },
        { sessionId: 's', place: 'compaction', id: compactions[0]!.id, found: stripe },
        { sessionId: 's', place: 'note', id: note.id, found: github },
        { sessionId: 's', place: 'message', id: messages[0]!.id, part: 0, found: { 'github-pat': 2 } },
        { sessionId: 's', place: 'message', id: messages[1]!.id, found: github },
        { sessionId: 's', place: 'message', id: messages[1]!.id, part: 1, found: stripe },
        { sessionId: 's', place: 'summary', id: summary!.id, part: 0, found: stripe },
        { owner: 'ann', place: 'note', id: other.id, found: github },
      ])
      const ofOwner = []
      for await (const { place } of store.privacy.scan({ owner: 'nobody' })) ofOwner.push(place)
      expect(ofOwner).toEqual([])
      expect(await failureOf(() => store.privacy.scan({ session: 'x' }).next())).toMatchObject({
        code: 'SESSION_NOT_FOUND',
      })
    })

    describe('parts that can’t be redacted', () => {
      const signed: Part = {
        type: 'reasoning',
        text: `it is ${KEY}`,
        providerOptions: { anthropic: { signature: 'c2ln' } },
      }
      const opaque: Part = {
        type: 'provider',
        provider: 'openai',
        data: { type: 'reasoning', encrypted_content: 'gAAAA' },
      }
      const answer = (...parts: Part[]): NewMessage => ({
        role: 'assistant',
        content: [...parts, { type: 'text', text: 'ok' }],
      })
      const openWith = async (options: object): Promise<void> => {
        await store.close()
        store = await ground.open({ redact: { with: 'secrets', ...options }, env: false })
      }

      it('are stored empty if a signature binds a credential, and kept if nobody can read them', async () => {
        await store.append('s', [say('user', 'go'), answer(signed, opaque)])
        expect((await contents())[1]).toEqual([
          { type: 'reasoning', text: '' },
          opaque,
          { type: 'text', text: 'ok' },
        ])
        expect((await store.sessions.audit('s')).at(-1)).toMatchObject({
          event: 'redacted',
          detail: { kinds: { sealed: 1, 'stripe-access-token': 1 }, positions: [2] },
        })
        expect(await leaked()).toEqual([])
        await isSound()
      })

      it('are refused by option, and nothing is written', async () => {
        await openWith({ sealed: 'refuse', opaque: 'refuse' })
        for (const part of [signed, opaque])
          expect(await failureOf(() => store.append('s', [say('user', 'go'), answer(part)]))).toMatchObject({
            code: 'REDACTION_REFUSED',
            facts: { message: 1, part: 0 },
          })
        expect(await store.sessions.list()).toEqual([])
      })

      it('are stored empty by option, even if nothing is known of them', async () => {
        await openWith({ opaque: 'drop' })
        await store.append('s', [answer({ ...signed, text: 'fine' }, opaque)])
        expect(await contents()).toEqual([
          [
            { ...signed, text: 'fine' },
            { type: 'text', text: '' },
            { type: 'text', text: 'ok' },
          ],
        ])
      })
    })

    describe('a function of the application', () => {
      const openWith = async (redact: OpenOptions['redact']): Promise<void> => {
        await store.close()
        store = await ground.open({ redact, env: false })
      }

      it('replaces what it likes, before or after the built-in one, and knows where a text is', async () => {
        const places: unknown[] = []
        await openWith([
          (text, place) => {
            places.push([text, place])
            return text.replaceAll('Ann', 'Person')
          },
          'secrets',
          (text) => ({
            text: text.replaceAll('Berlin', 'City'),
            found: { city: text.split('Berlin').length - 1 },
          }),
        ])
        await store.append('s', [{ ...say('user', `Ann in Berlin has ${KEY}`), metadata: { by: 'Ann' } }])
        expect(places).toEqual([
          ['Ann', { part: undefined, field: 'by' }],
          [`Ann in Berlin has ${KEY}`, { part: 0, field: undefined }],
        ])
        expect(await contents()).toEqual(['Person in City has [redacted: stripe-access-token]'])
        expect((await store.sessions.audit('s'))[0]!.detail).toEqual({
          kinds: { city: 1, custom: 2, 'stripe-access-token': 1 },
          positions: [1],
        })
      })

      it.each<[string, unknown, string]>([
        [
          'throws',
          () => {
            throw new TypeError(KEY)
          },
          'TypeError',
        ],
        ['returns nothing', () => undefined, 'NOT_A_TEXT'],
        ['returns a promise', async (text: string) => text, 'PROMISE'],
        [
          'returns kinds that are texts',
          (text: string) => ({ text: '', found: { [`${text} !`]: 1 } }),
          'NOT_A_TEXT',
        ],
        ['returns a text with NUL', () => 'a\0b', 'NOT_A_TEXT'],
        ['returns no numbers', () => ({ text: '', found: { a: 'b' } }), 'NOT_A_TEXT'],
      ])('that %s writes nothing, and the error has no text', async (_, redact, error) => {
        await openWith(redact as never)
        const failure = await failureOf(() => store.append('s', [say('user', KEY)]))
        expect(failure).toMatchObject({ code: 'REDACTION_FAILED', facts: { error } })
        expect(String(failure)).not.toContain(KEY)
        expect(await store.sessions.list()).toEqual([])
      })
    })
  })
}
