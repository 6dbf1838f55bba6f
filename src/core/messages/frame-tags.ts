/*
 * Tags that frame a text for a model. Text of a conversation that contains such a tag could end its frame, or begin another one.
 */

/** Characters that are not seen. */
const UNSEEN = '\\u00ad\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\ufeff'
/** What a model may read as `<`: the sign, its wide and small forms, and its entities and escapes. */
const OPENING = '<|[＜﹤]|&lt;|&#0{0,5}60;|&#x0{0,5}3c;|\\\\u003c'

/** The tags around a summary. */
export const SUMMARY_TAGS = tags('earlier-conversation', 'condensed-summary')
/** The tags around the material of a summary in the prompts of other systems. */
export const CONVERSATION_TAGS = tags('conversation')

/** The `<` of opening and closing tags with these names, also with attributes, of half ones, and with unseen characters within. */
function tags(...names: readonly string[]): RegExp {
  const spelled = names.map((name) =>
    Array.from(name, (one) => (one === '-' ? '[-\\u2010-\\u2015\\u2212]' : one)).join(`[${UNSEEN}]{0,4}`),
  )
  return new RegExp(`(?:${OPENING})(?=[\\s/${UNSEEN}]{0,8}(?:${spelled.join('|')})(?![\\w-]))`, 'giu')
}

/** A text in which some tags are no tags: `‹/conversation>`. Any other text is returned as it is. */
export function withoutTags(text: string, some: RegExp): string {
  return text.replace(some, '‹')
}
