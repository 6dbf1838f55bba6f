import { afterEach, describe, expect, it, vi } from 'vitest'
import { openStore, type Store, type StoreEvents } from '../../src/index.ts'
import { Events } from '../../src/store/events.ts'
import { chat } from '../support/conversation.ts'
import { CANARY, expectFailure, failureOf } from '../support/failures.ts'

const warning = (level: number): StoreEvents['contextWarning'] => ({
  sessionId: 's',
  level,
  percent: 100 * level,
  tokens: 1,
  availableTokens: 2,
})

afterEach(() => vi.restoreAllMocks())

describe('listeners', () => {
  it('are called in the order they were added, until they are taken away', () => {
    const events = new Events()
    const heard: string[] = []
    const a = (): number => heard.push('a')
    const b = (): number => heard.push('b')
    const first = events.add('contextWarning', a, false, 'on')
    events.add('contextWarning', b, false, 'on')
    events.add('contextWarning', a, false, 'on')
    events.add('contextWarning', () => heard.push('once'), true, 'once')
    events.emit('contextWarning', warning(0.6))
    expect(heard.splice(0)).toEqual(['a', 'b', 'a', 'once'])
    first()
    first()
    events.emit('contextWarning', warning(0.6))
    expect(heard.splice(0)).toEqual(['b', 'a'])
    events.off('contextWarning', a)
    events.off('contextWarning', a)
    events.emit('contextWarning', warning(0.6))
    expect(heard.splice(0)).toEqual(['b'])
    events.off('contextWarning', b)
    expect(events.hasListener('contextWarning')).toBe(false)
  })

  it('may add and take away while they are called', () => {
    const events = new Events()
    const heard: string[] = []
    events.add(
      'contextWarning',
      () => {
        heard.push('first')
        events.off('contextWarning', second)
        events.add('contextWarning', () => heard.push('late'), true, 'once')
      },
      true,
      'once',
    )
    const second = (): number => heard.push('second')
    events.add('contextWarning', second, false, 'on')
    events.emit('contextWarning', warning(0.6))
    expect(heard.splice(0)).toEqual(['first'])
    events.emit('contextWarning', warning(0.6))
    expect(heard).toEqual(['late'])
  })

  it('cannot change what others receive', () => {
    const events = new Events()
    let heard: unknown
    events.add('contextWarning', (event) => Object.assign(event, { level: 5 }), false, 'on')
    events.add('contextWarning', (event) => (heard = event.level), false, 'on')
    events.add('listenerError', () => undefined, false, 'on')
    events.emit('contextWarning', warning(0.6))
    expect(heard).toBe(0.6)
  })

  it('that throw or reject are reported to listeners of that event', async () => {
    const events = new Events()
    const heard: unknown[] = []
    const [thrown, rejected, late] = [new TypeError('thrown'), new Error('rejected'), 'a text']
    events.add('listenerError', ({ event, error }) => heard.push([event, error]), false, 'on')
    events.add(
      'contextWarning',
      () => {
        throw thrown
      },
      false,
      'on',
    )
    events.add('contextWarning', async () => Promise.reject(rejected), false, 'on')
    events.add(
      'contextWarning',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: what a careless listener may answer
        get then() {
          throw late
        },
      }),
      false,
      'on',
    )
    events.add('contextWarning', () => heard.push('the others'), false, 'on')
    events.emit('contextWarning', warning(0.6))
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard.slice(0, 2)).toEqual([['contextWarning', thrown], 'the others'])
    expect(heard).toHaveLength(4)
    expect(heard).toContainEqual(['contextWarning', rejected])
    expect(heard).toContainEqual(['contextWarning', late])
  })

  it('without listeners for that event cause one warning of the process, without the text of the error', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const events = new Events()
    const evil = new Error(CANARY)
    Object.defineProperty(evil, 'name', {
      get() {
        throw new Error(CANARY)
      },
    })
    for (const error of [new RangeError(CANARY), evil, CANARY]) {
      events.add(
        'contextWarning',
        () => {
          throw error
        },
        false,
        'on',
      )
    }
    events.emit('contextWarning', warning(0.6))
    events.emit('contextWarning', warning(0.6))
    events.add(
      'compaction',
      () => {
        throw evil
      },
      false,
      'on',
    )
    events.emit('compaction', { phase: 'undone' } as never)
    // A listener to errors that throws is not told of itself.
    events.add(
      'listenerError',
      () => {
        throw new Error(CANARY)
      },
      false,
      'on',
    )
    events.emit('contextWarning', warning(0.6))
    expect(warn.mock.calls).toEqual([
      ['undertext: a listener to contextWarning threw RangeError', WARNING],
      ['undertext: a listener to compaction threw Error', WARNING],
      ['undertext: a listener to listenerError threw Error', WARNING],
    ])
  })
  const WARNING = { type: 'UndertextWarning', code: 'UNDERTEXT_LISTENER' }

  it.each<[string, (store: Store) => unknown]>([
    ['an event there is not', (s) => s.on('compacted' as never, () => undefined)],
    ['an event called constructor', (s) => s.once('constructor' as never, () => undefined)],
    ['a listener that is none', (s) => s.on('compaction', 5 as never)],
    ['off without a listener', (s) => s.off('compaction', undefined as never)],
    ['a hook that is none', (s) => s.compactions.onBefore({} as never)],
  ])('refuses %s', async (what, act) => {
    const store = await openStore(':memory:')
    expectFailure(await failureOf(() => act(store)), 'INVALID_INPUT', what)
    await store.close()
  })
})

describe('a verb', () => {
  const config = { targetTokens: 300, enableSummarize: false } as const

  /** The same three verbs, and everything they answer, but for ids and times. */
  async function work(listen: (store: Store) => void): Promise<string> {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    listen(store)
    await store.append('s', chat(20, 30))
    const run = (await store.compactSession('s', config))!
    const answers = [
      run,
      await store.undoCompaction('s', run.runId),
      await store.redoCompaction('s', run.runId),
      await store.getEffectiveHistory('s'),
      await store.sessions.verify('s'),
    ]
    await store.close()
    // Ids of messages are the session's incarnation and a place.
    const [incarnation = ''] = run.messages[0]!.id.split(':')
    return JSON.stringify(answers)
      .replaceAll(incarnation, 'incarnation')
      .replaceAll(/"[0-9a-f]{8}-[0-9a-f-]{27}"|"createdAt":\d+/g, 'id')
  }

  it('returns the same with listeners that throw, reject, never end or call the store', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const plain = await work(() => undefined)
    const nested: Promise<unknown>[] = []
    const harmed = await work((store) => {
      for (const name of ['compaction', 'contextWarning', 'turnComplete', 'listenerError'] as const) {
        store.on(name, () => {
          throw new Error(CANARY)
        })
        store.on(name, () => Promise.reject(new Error(CANARY)))
        store.on(name, () => new Promise(() => undefined))
        store.on(name, () => {
          nested.push(store.getContextStats('s'))
        })
      }
    })
    expect(harmed).toBe(plain)
    expect((await Promise.all(nested)).length).toBeGreaterThan(3)
  })

  it('can be called from a listener, the same session included', async () => {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append('s', chat(40, 30))
    const second = new Promise((resolve, reject) => {
      store.on('compaction', ({ phase }) => {
        if (phase !== 'completed') return
        store.compactSession('s', { ...config, targetTokens: 100 }).then(resolve, reject)
      })
    })
    expect((await store.compactSession('s', { ...config, targetTokens: 900 }))!.compacted).toBe(true)
    expect(await second).toMatchObject({ compacted: true })
    await store.close()
  })
})
