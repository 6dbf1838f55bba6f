import { headOf } from '../../messages/characters.ts'
import { oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'

/** Words of requests. */
const ASKS =
  /\b(?:want|need|please|can|could|would|should|make|add|fix|use|create|write|remove|change|implement|refactor|update|test|check|explain|show|find|move|rename|why|how|what|where|problem|error|bug|instead|must|never|always|don['’]t|only|prefer)\b/gi
const CODE_LIKE = /`[^`]+`|\b\w+[._/]\w+|@\S+|\b[a-z]+[A-Z]\w*|\b[A-Z]\w*\d\w*/g
const SMALL_TALK =
  /^(?:ok(?:ay)?|yes|yeah|yep|no|sure|thanks?(?: you)?|great|cool|nice|wow|perfect|hi|hello|hey|alright|right|good|lgtm|yo|go on|continue|proceed|do it|go ahead)(?:[\s,.!]+(?:ok(?:ay)?|yes|please|thanks?|thank you|continue|proceed|go on|go ahead|do it|there|so|very|much|looks good|much|for (?:your|the) help))*[\s,.!?]*$/i

/** The same in other languages. */
const ASKS_OTHER =
  /\b(?:bitte|warum|wieso|muss|soll|kannst|ändere|füge|behebe|erstelle|schreibe|entferne|teste|prüfe|erkläre|fehler|statt|niemals|immer|nur|pourquoi|comment|peux|pouvez|corrige|corrigez|ajoute|ajoutez|écris|supprime|erreur|jamais|toujours|puedes|podrías|corrige|añade|agrega|escribe|elimina|nunca|siempre|por favor)\b|为什么|怎么|如何|请|帮我|修复|添加|增加|修改|删除|创建|实现|测试|检查|解释|错误|不要|必须|なぜ|どう|ください|直して|追加|修正|削除|作って|作成|実装|テスト|確認|エラー|必ず|ないで/gi

/** The units of a text that are weighed by sentence. */
const WEIGHED = 6_000

/** The most important sentences of a text in their order, with `…` for the others. */
export function informative(text: string, max: number): string {
  const prose = withoutFences(headOf(text, WEIGHED))
  const whole = oneLine(prose)
  if (whole === '') return shorten(oneLine(headOf(text, 4 * max)), max)
  if (whole.length <= max && text.length <= WEIGHED) return whole

  const sentences = sentencesOf(prose)
  const ranked = sentences
    .map((sentence, place) => ({ sentence, place, weight: weigh(sentence, place, sentences.length) }))
    .sort((a, b) => b.weight - a.weight || a.place - b.place)
  const kept: typeof ranked = []
  let room = max
  for (const item of ranked) {
    // Three for a gap sign and the space before it.
    if (item.sentence.length + 3 > room) continue
    kept.push(item)
    room -= item.sentence.length + 3
  }
  const [best] = ranked
  if (kept.length === 0 && best !== undefined) return shorten(best.sentence, max)
  kept.sort((a, b) => a.place - b.place)
  let last = -1
  let shown = ''
  for (const { sentence, place } of kept) {
    shown += (shown === '' ? '' : place === last + 1 ? ' ' : ' … ') + sentence
    last = place
  }
  return shown
}

function weigh(sentence: string, place: number, count: number): number {
  if (sentence.length < 8 || isSmallTalk(sentence)) return -1
  const words = sentence.slice(0, 400)
  const asks = (words.match(ASKS)?.length ?? 0) + (words.match(ASKS_OTHER)?.length ?? 0)
  let weight = Math.min(4, asks) + Math.min(3, words.match(CODE_LIKE)?.length ?? 0)
  if (sentence.endsWith('?')) weight += 1
  if (place === 0) weight += 2
  if (place === count - 1) weight += 1
  const letters = words.match(/\p{L}/gu)?.length ?? 0
  // Pasted output and tables consist mostly of signs and digits.
  return letters < words.length * 0.5 ? weight - 3 : weight
}

/** A command of a chat client: `/undo`, `/add src/main.ts`. */
const COMMAND = /^\s*\/[a-z][\w-]{0,40}(?:[ \t][^\n]{0,200})?\s*$/

/** The beginning of what a program printed. */
const PRINTED =
  /^\s*(?:={3,}|\^C|Traceback \(most|(?:Unexpected )?[Ee]rror: |\$ |npm ERR!|>>> |Command failed)/

/** Whether a request contains nothing new: "ok", "yes, continue", "thanks", a command of the client. */
export function isSmallTalk(text: string): boolean {
  return (
    text.length < 260 &&
    ((text.length < 60 && SMALL_TALK.test(oneLine(text))) || COMMAND.test(text) || PRINTED.test(text))
  )
}

/** The main sentence of a reply; empty when it contains only pleasantries, intentions and questions. */
export function gist(text: string, max: number): string {
  const sentences = sentencesOf(withoutFences(headOf(text, 1_500)))
  const telling = sentences.findIndex(
    (sentence) =>
      sentence.length >= 20 &&
      !sentence.endsWith('?') &&
      !/^(?:let me|now|next|i (?:have|now|need)|also need|i['’]ll|i need to|let['’]s|great|excellent|perfect|sure|certainly|of course|i can (?:help|assist)|good (?:catch|idea|point|thinking|progress))\b/i.test(
        sentence,
      ) &&
      !/^you['’]re (?:absolutely |completely )?right\b/i.test(sentence),
  )
  return telling < 0 ? '' : shorten(withList(sentences, telling), max)
}

/** A sentence, and the text it announces when it ends with a colon. */
export function withList(sentences: readonly string[], at: number): string {
  const sentence = sentences[at] ?? ''
  return sentence.endsWith(':') ? [sentence, ...sentences.slice(at + 1, at + 5)].join(' ') : sentence
}
