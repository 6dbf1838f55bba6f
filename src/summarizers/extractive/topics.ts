import { SUMMARY_SECTIONS } from '../summarizer.ts'

/** The topic of a section, independent of its title. */
const TOPICS = [
  'request',
  'concepts',
  'files',
  'problems',
  'pending',
  'evolution',
  'current',
  'next',
  'required',
  'rules',
  'decisions',
  'questions',
] as const
export type Topic = (typeof TOPICS)[number]

/** Topics of the default titles, in their order. */
const DEFAULTS: ReadonlyMap<string, Topic> = new Map(
  SUMMARY_SECTIONS.map((title, i) => [keyOf(title), TOPICS[i]!] as const),
)

/** Words of other titles, each with its possible topics, most likely first. Earlier lines take precedence. */
const WORDS: readonly (readonly [RegExp, readonly Topic[]])[] = [
  [/decision|decided|agreed/, ['decisions', 'rules']],
  [/constraint|rule|preference|convention|guideline|requirement|instruction/, ['rules', 'request']],
  [/action items?.*user|question|unresolved|unanswered|clarif/, ['questions', 'pending']],
  [/next steps?|follow/, ['next', 'pending']],
  [
    /pending|to ?do|task list|remaining|open (?:items|points|tasks)|action|outstanding|backlog/,
    ['pending', 'next'],
  ],
  [/required|needed|must read/, ['required', 'files']],
  [/file|code|artifact|data|change/, ['files', 'required']],
  [/problem|error|issue|bug|fix|discover|finding|learn|troubleshoot/, ['problems', 'concepts']],
  [/current|last|recent|progress|status|in flight|state/, ['current', 'evolution']],
  [/evolution|history|timeline|done|completed|accomplish|topic|discussed|events/, ['evolution', 'concepts']],
  [
    /goal|request|intent|purpose|objective|task|overview|summary|context|background/,
    ['request', 'evolution'],
  ],
  [/concept|technical|technolog|term|tool|environment|entit/, ['concepts', 'problems']],
]

/**
 * The topics of a list of titles: exact ones of the default titles first, the others by the words in them,
 * each topic once. A title without a free topic returns `undefined` and is left out.
 */
export function topicsOf(titles: readonly string[]): (Topic | undefined)[] {
  const topics = titles.map((title) => DEFAULTS.get(keyOf(title)))
  const taken = new Set<Topic | undefined>()
  for (const [i, topic] of topics.entries()) {
    if (topic !== undefined && taken.has(topic)) topics[i] = undefined
    taken.add(topic)
  }
  for (const [i, title] of titles.entries()) {
    if (topics[i] !== undefined) continue
    topics[i] = candidates(title).find((topic) => !taken.has(topic))
    taken.add(topics[i])
  }
  return topics
}

/** The topic of one heading in a summary of another writer. */
export function topicOf(title: string): Topic | undefined {
  return DEFAULTS.get(keyOf(title)) ?? candidates(title)[0]
}

/** Whether a heading is one of the default titles. */
export function isDefaultTitle(title: string): boolean {
  return DEFAULTS.has(keyOf(title))
}

function candidates(title: string): readonly Topic[] {
  const key = keyOf(title)
  return WORDS.filter(([words]) => words.test(key)).flatMap(([, topics]) => topics)
}

/** Case, numbering and punctuation are ignored. */
function keyOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/^\s*\d+ /, '')
    .trim()
}
