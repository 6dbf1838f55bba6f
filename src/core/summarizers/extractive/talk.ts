import { headOf } from '../../messages/characters.ts'
import { sentencesOf, withoutFences } from '../text.ts'
import type { CourseLine, Exchange, Utterance } from './exchanges.ts'
import type { Bullet } from './fit.ts'
import { informative, isSmallTalk } from './requests.ts'
import { outcomeOf } from './statements.ts'

/*
 * The course of a talk of several speakers: of people, a line for each topic; of agents, a line for each of them.
 */

/** The maximum units of a question, of an answer and of an agent's last statement. */
const QUESTION = 200
const ANSWER = 220
/** The number of messages after which somebody who speaks again begins a new topic. */
const PAUSE = 50
/** The number of texts after which a topic is closed: the next question or statement begins another one. */
const MAX_THREAD_TEXTS = 20
/** The least units of a statement that begins a topic. */
const MIN_TOPIC = 40
/** The number of the agents' newest texts that are read. */
const MAX_READ = 400
/** The maximum numbers of topics and of agents. */
const MAX_TOPICS = 120
const MAX_AGENTS = 12

/** `isDirect`: whether it addresses the asker. */
type Said = Utterance & { readonly isDirect: boolean }
type Thread = { readonly asker: string; readonly said: Said[]; last: number }

/** The topics of a group talk, oldest first, each with its line: who asked or said what, and who answered what. */
export function threadCourse(texts: readonly Utterance[]): ReadonlyMap<Exchange, CourseLine> {
  const course = threadsIn(texts).flatMap(({ asker, said }) => {
    const own = said.filter(({ speaker }) => speaker === asker)
    const first = said.findIndex(({ speaker }) => speaker !== asker)
    // A greeting is answered before the question comes.
    const asked = first > 0 && said.slice(0, first).some(({ text }) => text.length >= MIN_TOPIC)
    const [opening] = own.slice(0, asked ? first : 4).toSorted((a, b) => worth(b.text) - worth(a.text))
    if (opening === undefined || isSmallTalk(opening.text) || opening.text.length < 20) return []
    const answers = said.filter(({ speaker, at }) => speaker !== asker && at > opening.at)
    const [answer] = answers.toSorted((a, b) => worth(b.text, b.isDirect) - worth(a.text, a.isDirect))
    const told = `${asker}: "${informative(opening.text, QUESTION)}"`
    const settled = answer === undefined ? '' : outcomeOf([answer], ANSWER)
    const answered =
      settled !== '' && answer!.text.length <= ANSWER ? informative(answer!.text, ANSWER) : settled
    const outcome = answered === '' ? '' : `${answer!.speaker}: "${answered}"`
    const exchange = { request: opening, replies: said.filter((one) => one !== opening), commits: [] }
    return [[exchange, { text: outcome === '' ? told : `${told} → ${outcome}`, outcome }] as const]
  })
  return new Map(course.slice(-MAX_TOPICS))
}

/** How much a text says: as much as is shown of it. A question says less, what addresses the asker more. */
function worth(text: string, isDirect = false): number {
  return (Math.min(ANSWER, text.length) * (isDirect ? 2 : 1)) / (/[?？]\s*$/.test(text) ? 2 : 1)
}

/**
 * The threads of a talk: what somebody began to talk about, and what others answered. A text belongs to the thread of whom it addresses at
 * its beginning, else to the one that its speaker began. After a long silence a speaker begins a new one; others answer the text before theirs.
 */
function threadsIn(texts: readonly Utterance[]): Thread[] {
  const threads: Thread[] = []
  const lastOf = new Map<string, Thread>()
  let before: Thread | undefined
  for (const utterance of texts) {
    const { speaker = '', text, at } = utterance
    for (const part of partsFor(text, lastOf, speaker)) {
      const own = lastOf.get(speaker.toLowerCase())
      const silence = own === undefined ? Number.POSITIVE_INFINITY : at - own.last
      const opens = /[?？]/.test(part.text) || part.text.length >= MIN_TOPIC
      const isOpen = (one: Thread | undefined): boolean =>
        one !== undefined && !(opens && one.said.length >= MAX_THREAD_TEXTS)
      const thread: Thread =
        part.to ??
        (own?.asker === speaker && silence <= PAUSE && isOpen(own) ? own : undefined) ??
        (isOpen(before) && !(opens && silence > PAUSE) ? before : undefined) ??
        threads[threads.push({ asker: speaker, said: [], last: at }) - 1]!
      thread.said.push({ ...utterance, text: part.text, own: part.text, isDirect: part.to !== undefined })
      thread.last = at
      lastOf.set(speaker.toLowerCase(), thread)
      before = thread
    }
  }
  return threads
}

/** The lines of a text by whom they address: `name: …`, `name, …`, `@name …`. */
function partsFor(
  text: string,
  lastOf: ReadonlyMap<string, Thread>,
  speaker: string,
): { text: string; to: Thread | undefined }[] {
  const parts: { text: string; to: Thread | undefined }[] = []
  for (const line of withoutFences(text).split('\n').slice(0, 100)) {
    if (line.trim() === '') continue
    const [mark, name = ''] = /^@?([^\s:,]{2,40})[:,]? {1,4}/.exec(line) ?? []
    const to = name === speaker ? undefined : lastOf.get(name.toLowerCase())
    const last = parts.at(-1)
    const said = to === undefined ? line : line.slice(mark!.length)
    if (last !== undefined && (to === undefined || to === last.to)) last.text += ` ${said}`
    else parts.push({ text: said, to })
  }
  return parts
}

/** The name of a field at the beginning of a line: agents report in JSON, whose values are sentences. */
const FIELD = /^\s{0,40}"[\w-]{1,60}":\s{0,4}"?/gm

/** The last statement of each agent, when there are several. What another said before, such as the task in each prompt, says nothing. */
export function agents(replies: readonly Utterance[]): Bullet[] {
  const saidBy = new Map<string, string>()
  const last = new Map<string, string>()
  for (const { speaker, text, at } of replies.slice(-MAX_READ)) {
    if (speaker === undefined) continue
    const sentences = sentencesOf(withoutFences(headOf(text, 1_500).replaceAll(FIELD, '')))
    for (const one of sentences) saidBy.set(one, saidBy.get(one) ?? speaker)
    const own = sentences.filter((one) => saidBy.get(one) === speaker).join('\n')
    const said = outcomeOf([{ text: own, at }], ANSWER)
    if (said === '') continue
    last.delete(speaker)
    last.set(speaker, said)
  }
  return [...last].slice(-MAX_AGENTS).map(([speaker, text], i) => ({
    text: `${speaker}: "${text}"`,
    rank: 780 + i,
    cut: true,
  }))
}
