import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ContextBudgetExceededError } from '../../src/core/errors.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import {
  openStore,
  originalErrorOf,
  type PreparedRequest,
  type Store,
  type Summarizer,
  validateHistory,
} from '../../src/index.ts'
import { chat, say, units } from '../support/conversation.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
})
afterEach(() => store.close())

const sizeOf = ({ messages, provider }: PreparedRequest): number => estimateMessagesTokens(messages, provider)

/** As the AI SDK throws what Anthropic answers. */
function overflow(tokens: number, limit: number): Error {
  const message = `prompt is too long: ${tokens} tokens > ${limit} maximum`
  return Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode: 400,
    isRetryable: false,
    responseBody: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
  })
}

/** A provider that takes so many tokens and not one more. */
function provider(limit: number, errorOf: (tokens: number) => unknown = (tokens) => overflow(tokens, limit)) {
  const calls: { readonly tokens: number; readonly request: PreparedRequest }[] = []
  const call = (request: PreparedRequest, attempt: number): string => {
    expect(attempt).toBe(calls.length + 1)
    expect(validateHistory(request.messages, request.provider)).toEqual([])
    const tokens = sizeOf(request)
    calls.push({ tokens, request })
    if (tokens > limit) throw errorOf(tokens)
    return `answer to ${tokens} tokens`
  }
  return { calls, call }
}

const failing = async (act: () => Promise<unknown>): Promise<unknown> =>
  act().then(
    () => undefined,
    (error: unknown) => error,
  )

/** 200 messages of 104 tokens: 20,824 in all, in a window that has room for 83,200. */
const LONG = chat(100, 100)

/** OpenAI's words for a list of messages that is too long: obot-platform/obot#1009. */
function tooMany(messages: number): Error {
  const message = `Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length ${messages} instead.`
  const error = { message, type: 'invalid_request_error', param: 'messages', code: 'array_above_max_length' }
  return Object.assign(new Error(`400 ${message}`), { status: 400, code: error.code, error })
}

describe('more messages than OpenAI accepts', () => {
  it('are summarized after its refusal, although the window has room, and teach no limit of tokens', async () => {
    const messages = chat(1_100, 2)
    await store.append('s', messages)
    const lengths: number[] = []
    const options = { provider: 'openai', model: 'gpt-5', prompt: 'Go on.' }
    const answer = await store.withOverflowRecovery(
      's',
      (request) => {
        expect(validateHistory(request.messages, 'openai')).toEqual([])
        lengths.push(request.messages.length)
        if (request.messages.length > 2_048) throw tooMany(request.messages.length)
        return 'answer'
      },
      options,
    )
    expect(answer).toBe('answer')
    expect(lengths[0]).toBe(2_201)
    expect(lengths.length).toBeLessThanOrEqual(3)
    const stats = (await store.getContextStats('s', 'openai', 'gpt-5'))!
    expect(stats.contextWindow.tokens).toBe(400_000)
    expect((await store.getMessages('s')).filter(({ kind }) => kind === 'message')).toHaveLength(2_200)
    // And later turns are accepted at once.
    await store.append('s', [say('user', 'Go on.'), say('assistant', 'Gladly.')])
    const next = await store.prepareRequest('s', options)
    expect(next.messages.length).toBeLessThan(2_048)
  })
})

describe('an overflow', () => {
  it('of a call that was sent before another call made the history shorter shortens it no further', async () => {
    await store.append('s', LONG)
    const options = { provider: 'anthropic', prompt: 'Go on.' }
    const unnamed = () => Object.assign(new Error('prompt is too long'), { statusCode: 400 })
    const first = provider(16_000, unnamed)
    const second = provider(16_000, unnamed)
    let made: unknown[] = []
    await store.withOverflowRecovery(
      's',
      async (request, attempt) => {
        if (attempt === 1) {
          await store.withOverflowRecovery('s', first.call, options)
          made = await store.listCompactions('s')
        }
        return second.call(request, attempt)
      },
      options,
    )
    expect(await store.listCompactions('s')).toEqual(made)
    expect(second.calls.map(({ tokens }) => tokens)).toEqual([
      first.calls[0]!.tokens,
      first.calls.at(-1)!.tokens,
    ])
  })

  it('is recognized, the history made shorter, and the call made once more [S2-020 S3-010 S3-277 S3-278]', async () => {
    await store.append('s', LONG)
    const { calls, call } = provider(12_000)
    const answer = await store.withOverflowRecovery('s', call, { provider: 'anthropic', prompt: 'Go on.' })
    expect(calls).toHaveLength(2)
    expect(answer).toBe(`answer to ${calls[1]!.tokens} tokens`)
    expect(calls[1]!.request.messages.at(-1)).toEqual({ role: 'user', content: 'Go on.' })
    const compactions = await store.listCompactions('s')
    expect(new Set(compactions.map(({ trigger }) => trigger))).toEqual(new Set(['overflow']))
    // Nothing of the prompt was stored.
    expect((await store.sessions.get('s')).messageCount).toBe(LONG.length)
  })

  it.each([
    ['strict: false', new Error('RESOURCE_EXHAUSTED'), { strict: false }],
    ['patterns', new Error('zu viel Text'), { patterns: [{ provider: 'acme', pattern: /zu viel text/i }] }],
  ])('is what matches %s, also in what is recorded of it [S3-265]', async (_, error, overflow) => {
    await store.append('s', LONG)
    const trial = provider(12_000, () => error)
    expect(await failing(() => store.withOverflowRecovery('s', trial.call))).toBe(error)
    expect(trial.calls).toHaveLength(1)
    const { calls, call } = provider(12_000, () => error)
    expect(await store.withOverflowRecovery('s', call, { overflow })).toMatch(/^answer/)
    expect(calls.length).toBeGreaterThan(1)
    expect(await store.limits.learn('s', error)).toEqual({ isOverflow: false })
    expect(await store.limits.learn('s', error, { overflow })).toMatchObject({ isOverflow: true })
    const misspelled = { overflow: { stric: false } } as never
    expect(await failing(() => store.withOverflowRecovery('s', call, misspelled))).toMatchObject({
      code: 'INVALID_INPUT',
    })
  })

  it('teaches the limit it names [S3-279 S3-280]', async () => {
    await store.append('s', LONG)
    await store.withOverflowRecovery('s', provider(12_000).call, { provider: 'anthropic' })
    expect(await store.limits.list()).toMatchObject([{ provider: 'anthropic', tokens: 12_000 }])
    // The next request goes by it, and overflows no more.
    await store.append('s', chat(60, 100))
    const { calls, call } = provider(12_000)
    await store.withOverflowRecovery('s', call, { provider: 'anthropic' })
    expect(calls).toHaveLength(1)
  })

  it('reduces the request to 70 percent of the room [S3-281]', async () => {
    await store.append('s', LONG)
    const { calls, call } = provider(12_000)
    await store.withOverflowRecovery('s', call, { provider: 'anthropic', maxOutputTokens: 2_000 })
    // 12,000 less the answer's 2,000, times 0.7.
    const { stats } = calls[1]!.request
    expect(stats.availableInputTokens).toBe(10_000)
    expect(stats.estimatedInputTokens).toBeLessThanOrEqual(7_000)
    expect(calls[1]!.tokens).toBeLessThanOrEqual(7_000)
  })

  it('that names no figures is answered by three tenths less', async () => {
    await store.append('s', LONG)
    const { calls, call } = provider(21_000, () => new Error('Input is too long for requested model.'))
    await store.withOverflowRecovery('s', call, { provider: 'bedrock' })
    // 29,372 by the estimator, which counts two fifths more for this provider.
    expect(calls).toHaveLength(2)
    expect(calls[1]!.tokens).toBeLessThanOrEqual(Math.floor(0.7 * calls[0]!.tokens))
  })

  it('is answered step by step, each smaller than the one before', async () => {
    await store.append('s', LONG)
    const { calls, call } = provider(7_000, () => new Error('Input is too long for requested model.'))
    await store.withOverflowRecovery('s', call, { provider: 'bedrock' })
    const sizes = calls.map(({ tokens }) => tokens)
    expect(sizes.length).toBeGreaterThan(2)
    expect(sizes.length).toBeLessThanOrEqual(4)
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a))
  })

  it('that no step ends is an error of ours, and originalErrorOf returns the provider’s [S2-021 S2-022]', async () => {
    await store.append('s', LONG)
    const thrown: Error[] = []
    const { calls, call } = provider(0, () => {
      thrown.push(new Error('Input is too long for requested model.'))
      return thrown.at(-1)
    })
    const error = await failing(() => store.withOverflowRecovery('s', call, { provider: 'bedrock' }))
    expect(error).toBeInstanceOf(ContextBudgetExceededError)
    const {
      cause,
      stagesUsed,
      breakdown,
      provider: named,
      estimatedTokens,
    } = error as ContextBudgetExceededError
    // The provider's error may hold the whole request, so it is no cause.
    expect(cause).toBeUndefined()
    expect(originalErrorOf(error)).toBe(thrown.at(-1))
    expect(calls).toHaveLength(4)
    expect(stagesUsed).toContain('summarize')
    expect(breakdown.conversationHistory).toBeGreaterThan(0)
    expect(named).toBe('bedrock')
    expect(estimatedTokens).toBeGreaterThan(0)
    // Ours is no overflow: whoever recovers around it does not start over.
    const outer = await failing(() =>
      store.withOverflowRecovery('s', () => {
        throw error
      }),
    )
    expect(outer).toBe(error)
  })

  it('waits for no summarizer longer than the limit', async () => {
    await store.append('s', LONG)
    const summarizer: Summarizer = { name: 'hangs', usesModel: true, summarize: () => new Promise(() => {}) }
    const { calls, call } = provider(12_000)
    const start = Date.now()
    await store.withOverflowRecovery('s', call, {
      provider: 'anthropic',
      waitMs: 200,
      compaction: { summarizer },
    })
    expect(calls).toHaveLength(2)
    expect(Date.now() - start).toBeLessThan(5_000)
  })
})

describe('the error comes back as it was thrown', () => {
  const others: Record<string, unknown> = {
    'a rate limit': Object.assign(new Error('Rate limit reached: too many tokens per minute'), {
      statusCode: 429,
      isRetryable: true,
    }),
    'a bad request': Object.assign(new Error('messages.0: unexpected role'), {
      statusCode: 400,
      isRetryable: false,
    }),
    'a server that is down': Object.assign(new Error('overloaded_error'), { statusCode: 529 }),
    'an abort': Object.assign(new Error('This operation was aborted'), { name: 'AbortError' }),
    'a text': 'no key',
    'nothing at all': undefined,
  }
  for (const [what, thrown] of Object.entries(others)) {
    it(what, async () => {
      await store.append('s', LONG)
      let calls = 0
      const call = (): never => {
        calls += 1
        throw thrown
      }
      const caught = await store.withOverflowRecovery('s', call).then(
        () => 'no error',
        (error: unknown) => [error],
      )
      expect(caught).toEqual([thrown])
      expect((caught as unknown[])[0]).toBe(thrown)
      expect([calls, await store.listCompactions('s')]).toEqual([1, []])
    })
  }

  const untouched = async (options: object, session = 's'): Promise<void> => {
    const error = overflow(20_000, 12_000)
    let calls = 0
    const caught = await failing(() =>
      store.withOverflowRecovery(
        session,
        () => {
          calls += 1
          throw error
        },
        { provider: 'anthropic', ...options },
      ),
    )
    expect(caught).toBe(error)
    expect(calls).toBe(1)
  }

  it('with auto: false, and where the setting turns recovery off', async () => {
    await store.append('s', LONG)
    await untouched({ auto: false })
    await store.sessions.update('s', { config: { auto: false } })
    await untouched({})
    expect([await store.listCompactions('s'), await store.limits.list()]).toEqual([[], []])
  })

  it('when the history cannot get shorter', async () => {
    await store.append('s', [say('user', units(5_000))])
    await store.messages.pin('s', [(await store.getMessages('s'))[0]!.id])
    await untouched({})
    await untouched({ prompt: units(15_000) }, 'unknown')
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('when the run is vetoed, or fails', async () => {
    await store.append('s', LONG)
    const away = store.compactions.onBefore(() => false)
    await untouched({})
    away()
    await store.limits.forget('anthropic')
    const stage = {
      name: 'broken',
      plan: () => {
        throw new Error('no')
      },
    }
    await untouched({ compaction: { stages: [stage], enableTruncate: false } })
    expect(await store.getEffectiveHistory('s')).toHaveLength(LONG.length)
  })

  it('after an abort', async () => {
    await store.append('s', LONG)
    const controller = new AbortController()
    const error = overflow(20_000, 12_000)
    const caught = await failing(() =>
      store.withOverflowRecovery(
        's',
        () => {
          controller.abort()
          throw error
        },
        { signal: controller.signal },
      ),
    )
    expect(caught).toBe(error)
  })

  it('another error of the second call is that error', async () => {
    await store.append('s', LONG)
    const limited = Object.assign(new Error('Rate limit reached'), { statusCode: 429 })
    const caught = await failing(() =>
      store.withOverflowRecovery(
        's',
        (_, attempt) => {
          throw attempt === 1 ? overflow(20_000, 12_000) : limited
        },
        { provider: 'anthropic' },
      ),
    )
    expect(caught).toBe(limited)
  })
})

describe('the wordings of providers', () => {
  const said: Record<string, unknown> = {
    openai: Object.assign(new Error('400 Your input exceeds the context window of this model.'), {
      status: 400,
      code: 'context_length_exceeded',
    }),
    azure: {
      error: {
        code: 'context_length_exceeded',
        message:
          "This model's maximum context length is 16000 tokens. However, your messages resulted in 20840 tokens. Please reduce the length of the messages.",
      },
    },
    'google-ai': Object.assign(
      new Error('The input token count (20840) exceeds the maximum number of tokens allowed (16000).'),
      { status: 400 },
    ),
    mistral: new Error(
      'Prompt contains 20840 tokens and 0 draft tokens, too large for model with 16000 maximum context length',
    ),
  }
  for (const [name, error] of Object.entries(said)) {
    it(name, async () => {
      await store.append('s', LONG)
      const { calls, call } = provider(16_000, () => error)
      await store.withOverflowRecovery('s', call, { provider: name, maxOutputTokens: 0 })
      // Without figures, each attempt has at most 0.7 of the one before: of 24,034 tokens, 16,000 are left by the second.
      expect(calls).toHaveLength(name === 'openai' ? 3 : 2)
      expect(calls.at(-1)!.tokens).toBeLessThanOrEqual(0.7 * 20_840)
    })
  }
})

describe('a refusal for images or bytes', () => {
  const picture = (bytes: number) => ({
    role: 'user' as const,
    content: [{ type: 'image' as const, image: Buffer.alloc(bytes, 'p').toString('base64') }],
  })
  const pictures = (count: number, bytes: number) =>
    Array.from({ length: count }, () => [picture(bytes), say('assistant', 'ok')]).flat()
  const imagesOf = ({ messages }: PreparedRequest): string[] =>
    messages.flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === 'image' ? [part.image as string] : [])),
    )
  /** A server that accepts so many images, and so many bytes of them. */
  const server = (most: number, bytes: number, error: (images: number) => unknown) => {
    const sent: number[] = []
    return {
      sent,
      call: (request: PreparedRequest): string => {
        const images = imagesOf(request)
        sent.push(images.length)
        if (images.length > most || images.join('').length > bytes) throw error(images.length)
        return 'answer'
      },
    }
  }

  it('shows text in place of older images, and the call is repeated; undo shows them again', async () => {
    await store.append('s', pictures(41, 30))
    const refused = () =>
      Object.assign(
        new Error(
          'messages.38.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
        ),
        { status: 400 },
      )
    const { sent, call } = server(20, 1_000_000, refused)
    expect(await store.withOverflowRecovery('s', call, { provider: 'anthropic', prompt: 'Go on.' })).toBe(
      'answer',
    )
    // Half of 41 is 20.
    expect(sent).toEqual([41, 20])
    const [compaction] = await store.listCompactions('s')
    expect(compaction).toMatchObject({ kind: 'prune', trigger: 'overflow' })
    await store.undoCompaction('s', compaction!.id)
    expect((await store.getContextStats('s'))!.images.used).toBe(41)
  })

  it('goes by the number that the provider names, then down to a few and to none, and no further', async () => {
    await store.append('s', pictures(30, 30))
    const named = server(10, 1_000_000, () => new Error('Too many images in request. Max is 10.'))
    await store.withOverflowRecovery('s', named.call, { provider: 'acme' })
    // Seven tenths of 10.
    expect(named.sent).toEqual([30, 7])
    const tooLarge = Object.assign(new Error('Request exceeds the maximum size'), { status: 413 })
    const never = server(-1, 0, () => tooLarge)
    const caught = await failing(() => store.withOverflowRecovery('s', never.call, { provider: 'acme' }))
    expect(caught).toBe(tooLarge)
    // Half of seven, which is no more than a few; then none.
    expect(never.sent).toEqual([7, 3, 0])
  })

  it('is passed on at once when there are no media, and with auto: false', async () => {
    await store.append('s', LONG)
    const tooLarge = Object.assign(new Error('Payload Too Large'), { status: 413 })
    const { sent, call } = server(-1, 0, () => tooLarge)
    expect(await failing(() => store.withOverflowRecovery('s', call, { provider: 'acme' }))).toBe(tooLarge)
    await store.append('s', pictures(4, 30))
    const off = { provider: 'acme', auto: false }
    expect(await failing(() => store.withOverflowRecovery('s', call, off))).toBe(tooLarge)
    expect(sent).toEqual([0, 4])
  })

  it('does not come about where the limits are known: 105 images, and 42 screenshots of 34 MB', async () => {
    const anthropic = { provider: 'anthropic', model: 'claude-sonnet-4-20250514', prompt: 'Go on.' }
    await store.append('s', pictures(105, 30))
    const { sent, call } = server(100, 32_000_000, () => new Error('Request exceeds the maximum size'))
    await store.withOverflowRecovery('s', call, anthropic)
    // Due from 80 on, then two fifths of 100.
    expect(sent).toEqual([40])
    await store.append('t', pictures(42, 600_000))
    const large = server(100, 32_000_000, () => new Error('Request exceeds the maximum size'))
    await store.withOverflowRecovery('t', large.call, anthropic)
    // 800,000 of base64 each: 12.8 MB is the target, 15 × 0.8 = 12.0, and their text.
    expect(large.sent).toEqual([15])
  })
})
