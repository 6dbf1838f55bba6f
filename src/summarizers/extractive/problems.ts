import { headOf } from '../../messages/characters.ts'
import { sentencesOf, shorten, withoutFences } from '../text.ts'
import type { Conversation, Utterance } from './conversation.ts'
import { gist, informative } from './requests.ts'

/** An error and its outcome. */
type Problem = {
  readonly text: string
  /** `failed`: there is no sign that it was solved. */
  readonly kind: 'complaint' | 'failed' | 'overcome'
  readonly at: number
}

/** The number of newest complaints that are read. */
const MAX_COMPLAINTS = 20

/** The problems of a conversation, oldest first: failed calls with what followed, and the user's complaints. */
export function problemsIn(conversation: Conversation): Problem[] {
  return [...failures(conversation), ...complaints(conversation)].sort((a, b) => a.at - b.at)
}

function failures({ failures: failed, replies }: Conversation): Problem[] {
  return failed.map(({ label, line, at, count, isOpen }) => {
    const answer = firstAfter(replies, at)
    const then = answer === undefined ? '' : ` → ${firstSentence(answer.text)}`
    const times = count === 1 ? '' : ` (${count} times)`
    const text = `${label} failed${times}${isOpen ? '' : ', later succeeded'}: ${line}${then}`
    return { text, kind: isOpen ? 'failed' : 'overcome', at }
  })
}

/** The first reply after a place; replies are in order. */
function firstAfter(replies: readonly Utterance[], at: number): Utterance | undefined {
  let low = 0
  let high = replies.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (replies[middle]!.at > at) high = middle
    else low = middle + 1
  }
  return replies[low]
}

function firstSentence(text: string): string {
  const sentences = sentencesOf(headOf(withoutFences(text), 600))
  const shown = sentences.slice(0, 2).join(' ')
  return shorten(shown, 160)
}

const COMPLAINT =
  /\b(?:error|exception|crash(?:es|ed)?|fail(?:s|ed|ing|ure)?|broken|bug|bugs|doesn['’]t work|does not work|not working|wrong|issue|problem|stuck|regression|why (?:do|does|did|is|are|would|can)|incorrect|missing|fehler|fehlermeldung|funktioniert nicht|geht nicht|klappt nicht|kaputt|falsch|abgestürzt|erreur|ne marche (?:pas|plus)|ne fonctionne (?:pas|plus)|plantage|no funciona|fallo|falla|incorrecto)\b|错误|报错|失败|崩溃|有问题|不工作|异常|エラー|動かない|動きません|失敗|壊れ|バグ|不具合/i

function complaints({ exchanges }: Conversation): Problem[] {
  const problems: Problem[] = []
  for (let i = exchanges.length - 1; i >= 0 && problems.length < MAX_COMPLAINTS; i--) {
    const { request, replies } = exchanges[i]!
    if (!COMPLAINT.test(request.text)) continue
    const sentences = sentencesOf(headOf(withoutFences(request.text), 3_000))
    const complaint = sentences.find((sentence) => COMPLAINT.test(sentence)) ?? informative(request.text, 200)
    const answer = replies
      .slice(0, 4)
      .map(({ text }) => finding(text))
      .find((found) => found !== undefined)
    const then = answer === undefined ? '' : ` → Assistant: "${answer}"`
    problems.push({ text: `User: "${shorten(complaint, 200)}"${then}`, kind: 'complaint', at: request.at })
  }
  return problems
}

const FINDING =
  /\b(?:because|bug|cause[ds]?|since|due to|the (?:issue|problem|reason|error)|missing|fixed|should|wasn['’]t|isn['’]t|doesn['’]t|didn['’]t|instead)\b/i

/** The finding of a reply, else its main sentence. */
function finding(text: string): string | undefined {
  const prose = headOf(withoutFences(text), 1_500)
  const found = sentencesOf(prose).find(
    (sentence) => sentence.length >= 20 && FINDING.test(sentence) && !sentence.endsWith('?'),
  )
  const shown = found === undefined ? gist(text, 200) : shorten(found, 200)
  return shown === '' ? undefined : shown
}
