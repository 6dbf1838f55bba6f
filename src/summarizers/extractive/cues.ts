/*
 * Words that make a sentence a rule: English, and the plainest ones of German, French, Spanish, Chinese and Japanese.
 * A word that means something else in English (`sin`, `solo`, `sans`, `usa`) is none of them.
 */

/** Cues by how strongly they make a rule. A sentence needs 2 in all. */
const CUES: readonly (readonly [weight: number, words: string])[] = [
  [3, 'must|must not|mustn’t|never|always|do not|don’t|from now on|under no circumstances'],
  [3, 'important|importantly|not allowed|forbidden|mandatory|required'],
  [2, 'prefer|prefers|preferred|preferably|instead|instead of|rather than|avoid|make sure|ensure|remember'],
  [2, 'decided|decision|agreed|let’s|we will|we’ll|stick to|stick with|no need|no longer|strictly'],
  [2, 'should not|shouldn’t|may not|needs to|has to'],
  [1, 'only|should|want|keep|use|please|can we|could we|need to|have to|i’d like|i would like'],
  [1, 'at most|at least|without|everywhere|whenever|budget'],
  // German.
  [3, 'niemals|nie|auf keinen fall|auf gar keinen fall|keinesfalls|unter keinen umständen|immer|stets'],
  [3, 'muss|müssen|musst|müsst|darf nicht|dürfen nicht|darf kein|darf keine|darfst nicht|verboten'],
  [3, 'ab jetzt|ab sofort|zwingend|unbedingt|wichtig|bitte nicht|bitte keine|bitte kein'],
  [2, 'soll nicht|sollen nicht|sollte nicht|sollten nicht|statt|stattdessen|anstatt|anstelle|vermeide'],
  [2, 'vermeiden|bevorzuge|lieber|achte darauf|stelle sicher|stell sicher|nicht mehr|nicht ändern'],
  [2, 'nicht anfassen|nicht löschen|nicht verwenden|entschieden'],
  [1, 'nur|bitte|ohne|verwende|benutze|nutze|behalte|sollte|sollten|ich möchte|mindestens|höchstens'],
  // French.
  [3, 'jamais|toujours|il faut|ne pas|en aucun cas|impérativement|obligatoire|obligatoirement|interdit'],
  [3, 'désormais|dorénavant|doit pas|doivent pas|dois pas|devez pas|doit être|doivent être'],
  [2, 'plutôt que|au lieu de|préfère|veillez|doit|doivent|vous devez|tu dois|ne plus'],
  [1, 'uniquement|seulement|merci de|s’il te plaît|s’il vous plaît|je veux|je voudrais|utilise|utilisez'],
  // Spanish.
  [3, 'nunca|siempre|jamás|debe|deben|debes|hay que|tiene que|tienen que|tienes que|obligatorio|prohibido'],
  [3, 'bajo ninguna circunstancia|en ningún caso|a partir de ahora|de ahora en adelante|importante'],
  [3, 'no uses|no toques|no cambies|no modifiques|no borres|no utilices'],
  [2, 'en lugar de|en vez de|prefiero|evita|evitar|evite|asegúrate|asegúrese|ya no'],
  [1, 'solamente|por favor|quiero|utiliza|utilice|al menos'],
]

/** The same in writing without blanks between words. */
const EAST_ASIAN_CUES: readonly (readonly [weight: number, words: string])[] = [
  [3, '不要|绝对|絕對|必须|必須|不能|务必|務必|禁止|不得|不许|不可以|一定要|始终|永远|永遠|从不|總是|总是'],
  [2, '不应该|避免|确保|確保|优先|而不是|改用|决定|決定|从现在起|从现在开始|以后都'],
  [1, '请|請|只|应该|希望|使用'],
  [3, '必ず|ないで|てはいけ|てはなら|なければなら|なければいけ|べからず|厳禁|絶対|常に|決して|いつも'],
  [2, 'べき|代わりに|避けて|ようにして|優先'],
  [1, 'ください|下さい|だけ|のみ|ほしい'],
]

function listed(cues: typeof CUES): (readonly [string, number])[] {
  return cues.flatMap(([weight, words]) => words.split('|').map((word) => [word, weight] as const))
}

const WEIGHTS: ReadonlyMap<string, number> = new Map([...listed(CUES), ...listed(EAST_ASIAN_CUES)])

/** Cues as one pattern, longer ones first; either apostrophe. */
function anyOf(cues: typeof CUES): string {
  return listed(cues)
    .map(([cue]) => cue)
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
    .map((cue) => cue.replace('’', "['’]").replaceAll(' ', '\\s'))
    .join('|')
}

const LATIN = `\\b(?:${anyOf(CUES)})\\b`
const EVERY = `${LATIN}|${anyOf(EAST_ASIAN_CUES)}`

const LATIN_CUE = new RegExp(LATIN, 'gi')
const EVERY_CUE = new RegExp(EVERY, 'gi')
/** The same for whole texts, so that the two searches do not share a place. */
const LATIN_SEARCH = new RegExp(LATIN, 'gi')
const EVERY_SEARCH = new RegExp(EVERY, 'gi')

/** A pattern that finds the cues of a text, set to its beginning. One at a time: it is shared. */
export function cuesFor(text: string): RegExp {
  const cues = isEastAsian(text) ? EVERY_SEARCH : LATIN_SEARCH
  cues.lastIndex = 0
  return cues
}

/** Whether a text holds signs of Chinese or Japanese. */
export function isEastAsian(text: string): boolean {
  return /[\u3040-\u30ff\u3400-\u9fff]/.test(text)
}

/** Phrases that hold a cue and state no rule. */
const NOT_A_RULE =
  /\b(?:do(?:n['’]t| not) (?:know|think|see|have|understand|get|remember|believe|mean|care|mind|worry|exist|work|seem)|never ?mind|(?:it|there|that|this|you|he|she|they) must (?:be|have been) (?:a|an|the|some|in|on|because|something|wrong)|must (?:admit|say)|important to note|(?:an?|the|this|some|more|most|very|any) important (?!to\b|that\b)|as always|(?:have|has|had|was|were|is|are|i['’]ve|we['’]ve|it['’]s) (?:always|never)|if you (?:want|need)|let['’]s see|not only|want me to|i need to|we need to see)\b/gi
const NOT_A_RULE_OTHER =
  /\b(?:immer (?:noch|wieder|mehr|öfter)|wie immer|noch (?:nie|immer)|(?:hat|habe|haben|war|ist|sind) (?:immer|nie)|nie (?:gesehen|gehört)|ich muss|muss ich|(?:das|es|da) muss (?:ein|eine|am|an|im) |nicht (?:so )?wichtig|toujours pas|comme toujours|jamais vu|presque (?:jamais|toujours)|como siempre|casi (?:nunca|siempre)|debe (?:ser|haber|de) (?:un|una|algo|sido)|no importante)(?![a-z])/gi
const NOT_A_RULE_EAST_ASIAN =
  /能不能|要不要|不要紧|绝对(?:路径|值|定位)|絶対(?:パス|値)|不能(?:运行|工作|用|打开|启动|编译|正常|登录|显示|访问|加载|连接)|不得不|只是|いつも(?:ありがとう|お世話)|決定的/g

/** How strongly a sentence states a rule: 2 and more is one. Every cue counts once. */
export function weightOf(sentence: string): number {
  const isEast = isEastAsian(sentence)
  let told = sentence.replace(NOT_A_RULE, ' ').replace(NOT_A_RULE_OTHER, ' ')
  if (isEast) told = told.replace(NOT_A_RULE_EAST_ASIAN, ' ')
  const seen = new Set<string>()
  let weight = 0
  for (const [match] of told.matchAll(isEast ? EVERY_CUE : LATIN_CUE)) {
    const cue = match.toLowerCase().replace("'", '’').replaceAll(/\s/g, ' ')
    if (seen.has(cue)) continue
    seen.add(cue)
    weight += WEIGHTS.get(cue) ?? 0
  }
  return weight
}
