import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../../../src/cli/main.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'
import { newFolder } from '../../support/temporary.ts'

describe('undertext chat without a terminal', () => {
  let server: ModelServer
  let folder: string
  let db: string
  let count = 0
  beforeAll(async () => {
    server = await startModelServer()
    folder = newFolder()
  })
  afterAll(async () => {
    await server.close()
  })
  beforeEach(() => {
    count += 1
    db = join(folder, `${count}.db`)
    server.forget()
  })

  /** Runs the program with an input of these lines. */
  async function chat(args: readonly string[], input: string, signal = new AbortController().signal) {
    const texts = { out: '', err: '' }
    const sink = (name: 'out' | 'err') => ({
      isTerminal: false,
      columns: 80,
      write: (text: string) => {
        texts[name] += text
      },
    })
    const stdin = new PassThrough()
    stdin.end(input)
    const io = {
      out: sink('out'),
      err: sink('err'),
      input: stdin,
      env: {},
      cwd: folder,
      signal,
      version: '1',
      pour: async (text: string) => sink('out').write(text),
    }
    const exit = await runProgram(['--db', db, 'chat', ...args], { ...io, dataFolder: async () => folder })
    return { exit, ...texts }
  }

  async function inStore<T>(work: (store: Store, id: string) => Promise<T>): Promise<T> {
    const store = await openStore(db, { env: false })
    const [session] = await store.sessions.list()
    const answer = await work(store, session?.id ?? '')
    await store.close()
    return answer
  }

  const contents = () =>
    inStore(async (store, id) => (await store.getMessages(id)).map(({ content }) => content))
  const atServer = (...more: string[]): string[] => ['--url', server.openaiUrl, '--model', 'm', ...more]
  const eventsIn = (out: string) =>
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; [field: string]: unknown })

  it('takes a command in any case, and sends none to a model by a slip', async () => {
    const { exit, out } = await chat(['--echo'], 'hello\n/History 1\n')
    expect(exit).toBe(0)
    expect(out).toBe('hello\n   2  assistant  hello\n')
    expect(await chat(['--echo'], '/Nothing\n')).toMatchObject({ exit: 2 })
    expect((await chat(['--echo'], 'hello\n/compact\n')).out).toBe(
      'hello\nNothing to compact: the history is already within the target.\n',
    )
  })

  it('explains why there is no answer', async () => {
    const endedBy = async (reason: string) => {
      const choice = { message: { role: 'assistant', content: '' }, finish_reason: reason }
      server.script([{ raw: JSON.stringify({ choices: [choice] }) }])
      const { exit, err } = await chat(atServer('--message', 'hi'), '')
      const [window, sentence] = err.split('\n')
      // The test's model is in no table.
      expect(window).toContain('128,000 tokens are assumed. --context-window sets it')
      return [exit, sentence]
    }
    expect(await endedBy('stop')).toEqual([7, 'The model returned an empty answer.'])
    expect(await endedBy('length')).toEqual([
      7,
      'The model reached the output token limit before it wrote any text; see --max-tokens.',
    ])
    expect(await endedBy('content_filter')).toEqual([7, "The provider's content filter blocked the answer."])
    expect(await inStore(async (store) => (await store.sessions.list()).length)).toBe(0)
  })

  it('makes room with /compact for what --max-tokens leaves', async () => {
    const input = `${`${'word '.repeat(60)}\n`.repeat(8)}/compact 0.5\n`
    const { out } = await chat(
      ['--echo', '--context-window', '4000', '--max-tokens', '2400', '--json'],
      input,
    )
    // Half of the 1,600 tokens that the answer leaves.
    const result = eventsIn(out).find(({ event }) => event === 'result')
    expect(result?.value).toMatchObject({ targetTokens: 800 })
  })

  it('calls no model for an empty line', async () => {
    expect(await chat(atServer('--message', ' '), '')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--message is empty.'),
    })
    expect(server.requests).toEqual([])
  })

  it('answers each line, and writes only answers to the output', async () => {
    expect(await chat(['--echo'], 'one\ntwo\\\nthree\n')).toEqual({
      exit: 0,
      out: 'one\ntwo\nthree\n',
      err: '',
    })
    expect(await contents()).toEqual(['one', 'one', 'two\nthree', 'two\nthree'])
  })

  it('sends one text with --message, commands too, and continues the newest session', async () => {
    server.script([{ text: 'First.' }, { text: 'Second.' }])
    writeFileSync(join(folder, 'system.txt'), 'Speak plainly.')
    await chat(atServer('--message', '/help', '--system-file', 'system.txt', '--title', 'A talk'), '')
    const { out, exit } = await chat(['@', '--url', server.openaiUrl, '--message', 'more'], '')
    expect([out, exit]).toEqual(['Second.\n', 0])
    expect(await contents()).toEqual(['/help', 'First.', 'more', 'Second.'])
    expect(await inStore((store, id) => store.sessions.get(id))).toMatchObject({
      title: 'A talk',
      provider: 'openai',
      model: 'm',
    })
    expect(server.requests[0]?.body.messages).toEqual([
      { role: 'system', content: 'Speak plainly.' },
      { role: 'user', content: '/help' },
    ])
    expect(server.requests[1]?.body.model).toBe('m')
  })

  it('stops with exit code 7 where the model fails, and stores nothing of that turn', async () => {
    server.script([{ text: 'Fine.' }, { status: 500, message: 'out of order' }])
    const { exit, out, err } = await chat(atServer(), 'one\ntwo\nthree\n')
    expect([exit, out]).toEqual([7, 'Fine.\n'])
    expect(err).toContain('returned status 500: out of order')
    expect(await contents()).toEqual(['one', 'Fine.'])
    expect(server.requests).toHaveLength(2)
  })

  it('stores the part of an interrupted answer', async () => {
    server.script([{ text: 'Half of this is lost on the way.', errorAfter: 3 }])
    const { exit, out, err } = await chat(atServer(), 'one\n')
    expect(exit).toBe(7)
    expect(out.trim()).not.toBe('')
    expect(err).toContain('The part that arrived is stored')
    const [, answer] = await inStore(async (store, id) => store.getMessages(id))
    expect(`${answer?.content}\n`).toBe(out)
    expect(answer?.metadata).toEqual({ chat: { stopped: 'failed' } })
  })

  it('recovers from an overflow with a shorter history, and reports it', async () => {
    await openStore(db, { env: false }).then(async (store) => {
      await store.sessions.create({ id: 's', provider: 'openai', model: 'm' })
      for (let at = 0; at < 20; at++)
        await store.append('s', [
          { role: 'user', content: `Question ${at}: ${'some words and more '.repeat(20)}` },
          { role: 'assistant', content: `Answer ${at}: ${'other words and more '.repeat(20)}` },
        ])
      await store.close()
    })
    const message =
      "This model's maximum context length is 1500 tokens. However, your messages resulted in 4000 tokens."
    server.script([{ status: 400, message, code: 'context_length_exceeded' }, { text: 'Now it fits.' }])
    const { exit, out, err } = await chat(['s', ...atServer()], 'go on\n')
    expect([exit, out]).toEqual([0, 'Now it fits.\n'])
    expect(err).toMatch(
      /Compacted: history [\d,]+ → [\d,]+ tokens .*; undo it with undertext undo s [0-9a-f-]{36}/,
    )
    const sent = server.requests.map(({ text }) => text.length)
    expect(sent[1]).toBeLessThan(sent[0]!)
  })

  it('compacts earlier with a lower threshold [S3-032]', async () => {
    const words = 'word '.repeat(90).trim()
    const turns = `${words}\n`.repeat(3)
    const small = ['--echo', '--context-window', '2000', '--max-tokens', '1000']
    const late = await chat([...small, '--json'], `${turns}go on\n`)
    expect(eventsIn(late.out).map(({ event }) => event)).not.toContain('compaction')
    const early = await chat([...small, '--compact-threshold', '0.4', '--json'], `${turns}go on\n`)
    expect(eventsIn(early.out).map(({ event }) => event)).toContain('compaction')
    expect((await chat([...small, '--compact-threshold', '1.5'], '')).exit).toBe(2)
  })

  it('a threshold of 0.3 brings the history to 0.15, and the next turn does not compact again [S3-032]', async () => {
    const store = await openStore(db, { env: false })
    for (let at = 0; at < 50; at++) {
      await store.append('talk', [
        { role: 'user', content: `request ${at} ${'and so on '.repeat(36)}` },
        { role: 'assistant', content: `answer ${at} ${'and so on '.repeat(36)}` },
      ])
    }
    await store.close()
    const args = ['talk', '--echo', '--context-window', '15000', '--max-tokens', '1000', '--json']
    const { out } = await chat([...args, '--compact-threshold', '0.3'], 'hi\nand\ngo on\n')
    const events = eventsIn(out)
    expect(events.filter(({ phase }) => phase === 'completed')).toHaveLength(1)
    expect(events.filter(({ event }) => event === 'warning')).toEqual([])
    // Three short turns after it, of 10 to 12 tokens each, of 14,000.
    const usages = events.flatMap(
      ({ context }) => (context as { usageRatio: number } | undefined)?.usageRatio ?? [],
    )
    expect(usages).toHaveLength(3)
    expect(Math.max(...usages)).toBeLessThanOrEqual(0.15 * 1.05 + 0.003)
  })

  it('checks the budget after each turn; --disable-compaction prints and compacts nothing [S3-033 S3-322 S3-326]', async () => {
    const words = 'word '.repeat(400).trim()
    const small = ['--echo', '--context-window', '2000', '--max-tokens', '1000', '--json']
    const on = await chat(small, `${words}\nhi\n`)
    expect(eventsIn(on.out).filter(({ event }) => event === 'warning').length).toBeGreaterThan(0)
    const off = await chat([...small, '--disable-compaction'], `${words}\nhi\n`)
    const events = eventsIn(off.out).map(({ event }) => event)
    expect(events).toEqual(['session', 'text', 'answer', 'text', 'answer', 'end'])
    // What does not fit at all is refused, and the session stays.
    const full = await chat(['@', ...small, '--disable-compaction'], `${words}\n`)
    expect(full.exit).toBe(4)
    expect(eventsIn(full.out).map(({ event, code }) => code ?? event)).toEqual([
      'session',
      'CONTEXT_BUDGET_EXCEEDED',
      'end',
    ])
  })

  it('its commands do what their descriptions promise', async () => {
    const first = await chat(
      ['--echo'],
      'hello\n/system Be kind.\n/system\n/model\n//etc/hosts\n/history 2\n/nope\nnever\n',
    )
    expect(first.exit).toBe(2)
    expect(first.out).toBe(
      'hello\nBe kind.\nBe kind.\nAnswers come from the offline echo.\n/etc/hosts\n   3  user       /etc/hosts\n   4  assistant  /etc/hosts\n',
    )
    expect(first.err).toContain('Unknown command /nope.')
    const ends = await chat(['--echo'], '/exit\nnever\n')
    expect(ends).toEqual({ exit: 0, out: '', err: '' })
  })

  it('takes a target as a share or in percent, and names its own commands where a model lacks a provider', async () => {
    await chat(['--echo'], `${'kettle '.repeat(200)}\nand then?\n`)
    const compacted = async (target: string) => {
      const { out } = await chat(['@', '--echo', '--json'], `/compact ${target}\n`)
      const [, result] = out.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)))
      return (result as { value: { target: unknown } }).value
    }
    expect(await compacted('30%')).toEqual(await compacted('0.3'))
    expect(await compacted('30 %')).toEqual(await compacted('.3'))
    expect(await compacted('30%')).not.toEqual(await compacted('40%'))
    const beyond = await chat(['@'], '/compact 120%\n')
    expect(beyond).toMatchObject({ exit: 2, err: expect.stringContaining('The target must be a share') })
    const model = await chat(['@'], '/model gpt-4o\n')
    expect(model).toMatchObject({
      ...{ exit: 2, out: '' },
      err: 'undertext: The echo has no provider. Name one: /model PROVIDER/MODEL.\n',
    })
  })

  it('writes answers and results of commands to the output, and events alone with --json', async () => {
    const { out, err } = await chat(['--echo'], 'hello\n/system Be kind.\n/undo\n')
    expect([out, err]).toEqual(['hello\nBe kind.\n', 'No compaction is in force.\n'])
    const json = await chat(['@', '--echo', '--json'], '/undo\n/system\n')
    const events = json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event)
    expect(events).toEqual(['session', 'result', 'end'])
    const early = await chat(['none', '--json'], 'hello\n')
    expect(JSON.parse(early.out)).toMatchObject({ error: { code: 'SESSION_NOT_FOUND' } })
  })

  it('lets a model write summaries, and continues offline if that fails', async () => {
    server.script(({ stream, body }) =>
      JSON.stringify(body.messages).includes('answer me') && stream
        ? { text: 'Yes.' }
        : { status: 400, message: 'no summaries today' },
    )
    await openStore(db, { env: false }).then(async (store) => {
      for (let at = 0; at < 20; at++)
        await store.append('s', [
          { role: 'user', content: `Question ${at}: ${'some words and more '.repeat(8)}` },
          { role: 'assistant', content: `Answer ${at}: ${'other words and more '.repeat(8)}` },
        ])
      await store.close()
    })
    const { exit, out } = await chat(
      ['s', ...atServer('--summary-model', 'small', '--context-window', '2400', '--max-tokens', '1000')],
      'answer me\n',
    )
    expect([exit, out]).toEqual([0, 'Yes.\n'])
    expect(server.requests.map(({ body }) => body.model)).toContain('small')
    const compactions = await inStore(async (store) => store.listCompactions('s'))
    expect(compactions.map(({ status, summarizer }) => [status, summarizer])).toContainEqual([
      'active',
      'extractive',
    ])
  })

  it('leaves no session without a message', async () => {
    await chat(['--echo'], '')
    expect(await inStore(async (store) => store.sessions.list())).toEqual([])
  })

  it('ends with 130 when it is interrupted', async () => {
    server.script([{ silent: true }])
    const own = new AbortController()
    setTimeout(() => own.abort(), 50)
    const { exit } = await chat(atServer(), 'hi\n', own.signal)
    expect(exit).toBe(130)
    expect(await inStore(async (store) => store.sessions.list())).toEqual([])
  })
})
