import { expect } from 'vitest'
import { isSilent } from '../../src/core/messages/message.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/measure.ts'
import type { Moment, Store } from '../../src/index.ts'

/* The timeline of a random sequence: each point has the figures of its moment. */

/** Records answers of two thirds of the requests, some of which were made before compactions, or have two messages. */
async function recordAnswers(store: Store, session: string): Promise<void> {
  const answers = await answersOf(store, session)
  for (const [at, { id, position }] of (await store.requests.list(session, { limit: 1_000 })).entries()) {
    const later = answers.filter((answer) => answer > position)
    const first = at % 3 === 2 ? undefined : later[at % 4]
    if (first !== undefined) await store.requests.recordAnswer(session, id, [first, first + (at % 2)])
  }
}

/** Also records answers, which may change how the requests are rendered again. */
export async function checkTimeline(store: Store, session: string): Promise<void> {
  await recordAnswers(store, session)
  const { points, answers } = await store.messages.timeline(session, { points: 5_000 })
  const positions = await answersOf(store, session)
  expect(points.map(({ answer }) => answer)).toEqual(positions)
  expect(answers).toBe(positions.length)

  const requests = await store.requests.list(session, { limit: 1_000 })
  const log = (await store.getMessages(session)).filter(({ position }) => position !== undefined)
  const { estimator, provider = 'openai' } = await store.sessions.get(session)
  for (const { answer, requestId, logTokens, time, ...point } of points) {
    const { position, auditNo, ...figures } = point
    const answered = requests
      .filter(({ answerPositions: range }) => range && range[0] <= answer && answer <= range[1])
      .sort((a, b) => a.answerPositions![1] - b.answerPositions![1])
    expect(requestId, `request of ${answer}`).toBe(answered[0]?.id)
    expect(position).toBe(answer - 1)
    expect(time).toBe(log[answer - 1]!.createdAt)
    expect(logTokens).toBe(estimateMessagesTokens(log.slice(0, position), provider, estimator))
    const before = await store.messages.moment(session, { beforeMessage: answer })
    const request = answered[0]
    expect(auditNo).toBe(request?.audit ?? before.auditNo)
    // Only a request whose prompt isn't in the log names the point of its answer.
    const at: Moment | undefined =
      auditNo === before.auditNo
        ? { beforeMessage: answer }
        : request?.position === position
          ? { request: request.id }
          : undefined
    if (at === undefined) continue
    expect(figures, `timeline at ${answer}`).toEqual(await figuresAt(store, session, at))
  }
  await checkRanges(store, session, points)
}

async function figuresAt(store: Store, session: string, at: Moment): Promise<unknown> {
  const stats = await store.getContextStats(session, undefined, undefined, { at })
  const { tokens } = await store.messages.diff(session, at, at)
  // Nothing was in the view of an empty moment.
  if (stats === null) return { rows: 0, sizes: expect.anything(), tokens: 0 }
  return { rows: stats.messageCount, sizes: stats.sizes, tokens: tokens.before }
}

/** A part of the timeline, and a sample of it, have the points of the whole one. */
async function checkRanges(
  store: Store,
  session: string,
  points: readonly { readonly answer: number }[],
): Promise<void> {
  const [from, to] = [points[1]?.answer ?? 1, points.at(-2)?.answer ?? 1]
  if (from <= to) {
    const within = points.filter(({ answer }) => answer >= from && answer <= to)
    expect(await store.messages.timeline(session, { from, to })).toEqual({
      ...{ points: within, answers: within.length },
    })
  }
  const { points: sample, answers } = await store.messages.timeline(session, { points: 3 })
  const middle =
    points.length > 3 ? [points[0], points[Math.round((points.length - 1) / 2)], points.at(-1)] : points
  expect(sample).toEqual(middle)
  expect(answers).toBe(points.length)
}

/** Positions of the messages of the assistant that aren't silent. */
async function answersOf(store: Store, session: string): Promise<number[]> {
  return (await store.getMessages(session)).flatMap((message) =>
    message.role === 'assistant' && message.position !== undefined && !isSilent(message)
      ? [message.position]
      : [],
  )
}
