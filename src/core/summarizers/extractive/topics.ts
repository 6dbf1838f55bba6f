import { SUMMARY_SECTIONS } from '../summarizer.ts'
import { keyOf } from '../text.ts'

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
] as const
export type Topic = (typeof TOPICS)[number]

/** Topics of the default titles, in their order. */
const DEFAULTS: ReadonlyMap<string, Topic> = new Map(
  SUMMARY_SECTIONS.map((title, i) => [wordsOf(title), TOPICS[i]!] as const),
)

/** Words of other titles and their topics, the most telling first. */
const WORDS: readonly (readonly [RegExp, Topic])[] = [
  [
    /constraint|rule|preference|convention|guideline|requirement|instruction|decision|decided|agreed/,
    'rules',
  ],
  [/next steps?|follow/, 'next'],
  [/pending|to ?do|task list|remaining|open (?:items|points|tasks)|action|outstanding|backlog/, 'pending'],
  [/required|needed|must read/, 'required'],
  [/file|code|artifact|data|change/, 'files'],
  [/problem|error|issue|bug|fix|discover|finding|learn|troubleshoot/, 'problems'],
  [/current|last|recent|progress|status|in flight|state/, 'current'],
  [/evolution|history|timeline|done|completed|accomplish|topic|discussed|events/, 'evolution'],
  [/goal|request|intent|purpose|objective|task|overview|summary|context|background/, 'request'],
  [/concept|technical|technolog|term|tool|environment|entit/, 'concepts'],
]

/**
 * The topics of a list of titles: exact ones of the default titles first, the others by the words in them,
 * each topic once. A title without a free topic returns `undefined` and is left out.
 */
export function topicsOf(titles: readonly string[]): (Topic | undefined)[] {
  const topics: (Topic | undefined)[] = titles.map(() => undefined)
  const assign = (topic: Topic, fits: (title: string) => boolean): void => {
    const place = titles.findIndex((title, i) => topics[i] === undefined && fits(wordsOf(title)))
    if (place >= 0 && !topics.includes(topic)) topics[place] = topic
  }
  for (const [title, topic] of DEFAULTS) assign(topic, (key) => key === title)
  for (const [words, topic] of WORDS) assign(topic, (key) => words.test(key))
  return topics
}

/** The topic of one heading in a summary of another writer. */
export function topicOf(title: string): Topic | undefined {
  return DEFAULTS.get(wordsOf(title)) ?? WORDS.find(([words]) => words.test(wordsOf(title)))?.[1]
}

/** Whether a heading is one of the default titles. */
export function isDefaultTitle(title: string): boolean {
  return DEFAULTS.has(wordsOf(title))
}

/** The words of a title without its number. */
function wordsOf(title: string): string {
  return keyOf(title).replace(/^\d+ /, '')
}
