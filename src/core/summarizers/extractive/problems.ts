import { headOf } from '../../messages/characters.ts'
import { sentencesOf, withoutFences } from '../text.ts'
import type { Conversation } from './conversation.ts'
import type { Exchange } from './exchanges.ts'
import { informative } from './requests.ts'
import { outcomeOf } from './statements.ts'

/** An error and its outcome. */
type Problem = { readonly text: string; readonly isOpen: boolean; readonly at: number }

/** The number of newest complaints that are read. */
const MAX_COMPLAINTS = 20

/** The problems of a conversation, oldest first: failed calls with what followed, and the user's complaints. */
export function problemsIn(conversation: Conversation): Problem[] {
  return [...failures(conversation), ...complaints(conversation)].sort((a, b) => a.at - b.at)
}

function failures({ failures: failed, replies }: Conversation): Problem[] {
  return failed.map(({ label, line, at, count, isOpen, isOvercome }) => {
    const answer = outcomeOf(replies.filter((reply) => reply.at > at).slice(0, 1), 160)
    const then = answer === '' ? '' : ` → ${answer}`
    const times = count === 1 ? '' : ` (${count} times)`
    const later = isOpen ? (isOvercome ? ', a similar command succeeded later' : '') : ', later succeeded'
    return { text: `${label} failed${times}${later}: ${line}${then}`, isOpen: isOpen && !isOvercome, at }
  })
}

const COMPLAINT =
  /\b(?:error|exception|crash(?:es|ed)?|fail(?:s|ed|ing|ure)?|broken|bugs?|doesn['’]t work|does not work|not working|wrong|issue|problem|stuck|regression|why (?:do|does|did|is|are)|incorrect|missing|fehler|funktioniert nicht|geht nicht|kaputt|falsch|erreur|ne (?:marche|fonctionne) (?:pas|plus)|no funciona|fallo|falla)\b|错误|报错|失败|崩溃|不工作|エラー|動かない|動きません|失敗|壊れ/i

/** What a user says when it works. */
const WORKS =
  /\b(?:works|working|worked|solved|resolved|(?:is|was|got|that|it) fixed|funktioniert|klappt|geht jetzt|(?:ça|cela) (?:marche|fonctionne)|funciona|resuelto)\b|可以了|好了|解决了|正常了|動きました|動いた|直りました|解決しました/i

function isSolved({ request }: Exchange): boolean {
  const sentences = sentencesOf(headOf(withoutFences(request.text), 400))
  return sentences.some(
    (sentence) =>
      sentence.length < 120 &&
      WORKS.test(sentence) &&
      !COMPLAINT.test(sentence) &&
      !/[?？]$|\b(?:not|never|if)\b/i.test(sentence),
  )
}

function complaints({ exchanges }: Conversation): Problem[] {
  const solvedAt = exchanges.findLast(isSolved)?.request.at ?? -1
  const complaining = exchanges.filter(({ request }) => COMPLAINT.test(request.text)).slice(-MAX_COMPLAINTS)
  return complaining.map(({ request, replies }) => {
    const sentences = sentencesOf(headOf(withoutFences(request.text), 3_000))
    const complaint = sentences.find((sentence) => COMPLAINT.test(sentence)) ?? request.text
    const answer = outcomeOf(replies.slice(0, 8), 200)
    const then = answer === '' ? '' : ` → Assistant: "${answer}"`
    const isOpen = request.at >= solvedAt
    const state = isOpen ? '' : ' (solved)'
    return { text: `User: "${informative(complaint, 200)}"${state}${then}`, isOpen, at: request.at }
  })
}
