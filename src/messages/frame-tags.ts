/*
 * Tags that frame a text for a model. Text of a conversation that contains such a tag could end its frame, or begin another one.
 */

/** The tags around a summary. */
export const SUMMARY_TAGS = tags('earlier-conversation|condensed-summary')
/** The tags around the material of a summary in the prompts of other systems. */
export const CONVERSATION_TAGS = tags('conversation')

/** The `<` of opening and closing tags with these names. */
function tags(names: string): RegExp {
  return new RegExp(`<(?=[\\s/]{0,8}(?:${names})\\s{0,8}[/>])`, 'gi')
}

/** A text in which some tags are no tags: `‹/conversation>`. Any other text is returned as it is. */
export function withoutTags(text: string, some: RegExp): string {
  return text.includes('<') ? text.replace(some, '‹') : text
}
