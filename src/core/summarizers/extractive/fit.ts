import { withoutSecrets } from '../secrets.ts'
import { shorten } from '../text.ts'

/** One line of a summary. */
export type Bullet = {
  readonly text: string
  /** Its importance compared with all others, 0 to 1,000. */
  readonly rank: number
  /** Whether it may be shortened. */
  readonly cut?: boolean
  /** Is never left out: requests and rules. When there is too little room, each gets a share by this weight. */
  readonly must?: number
  /** Its length was chosen by the available room: it is included before others but requests and rules. */
  readonly isSized?: boolean
}

export type Section = { readonly title: string; readonly bullets: readonly Bullet[] }

/** The maximum units of each request and rule; 0 when there is no room for it. Repeated ones have none. */
type Limits = ReadonlyMap<Bullet, number>

/** A text, the number of requests and rules in it that are shortened, and the units that these lack. */
export type Fitted = {
  readonly text: string
  readonly shortened: number
  readonly missing: number
  readonly limits: Limits
}

/** The minimum units of a shortened bullet. */
const MIN_CUT = 60
/** The share of the room that requests and rules may take before they are shortened, and the minimum units of each. */
const MUST_SHARE = 0.7
const MIN_MUST = 40
/** Requests and rules may take all of so little room. */
const FEW_UNITS = 100
/** In so little room, a rule that is a sentence of a request is not repeated. */
const LITTLE_UNITS = 500

/**
 * Renders sections as Markdown of at most `max` units. Bullets are chosen in this order: requests and rules, within `limits` when
 * these are known from an earlier call, those of a chosen size, and the others by rank. They keep their order in the text.
 */
export function fitSections(sections: readonly Section[], max: number, limits?: Limits): Fitted {
  const filled = sections.filter(({ bullets }) => bullets.length > 0)
  const whole = render(filled.map((section) => [section, section.bullets.map(({ text }) => text)]))
  const all = filled.flatMap(({ bullets }) => bullets)
  if (whole.length <= max) {
    const musts = all.filter(({ must }) => must !== undefined)
    const shortened = musts.filter(({ text }) => SHORTENED.test(text)).length
    const limits = new Map(musts.map((bullet) => [bullet, bullet.text.length]))
    return { text: whole, shortened, missing: 0, limits }
  }

  const fitter = new Fitter(filled, max)
  const used = limits ?? fitter.limits(max)
  fitter.fillMusts(used)
  fitter.fill(({ isSized }) => isSized === true)
  fitter.fill(() => true)
  const text = fitter.text()
  const missing = fitter.missing()
  if (text !== '') return { text, shortened: fitter.shortened(), missing, limits: used }
  const [first] = all.toSorted((a, b) => b.rank - a.rank)
  return { text: shorten(first?.text ?? '', max), shortened: 1, missing, limits: used }
}

type Candidate = { readonly section: Section; readonly bullet: Bullet }

class Fitter {
  readonly #sections: readonly Section[]
  /** All bullets, the most important first. */
  readonly #ranked: readonly Candidate[]
  readonly #chosen = new Map<Bullet, string>()
  readonly #used = new Set<Section>()
  /** Rules that are only counted. */
  readonly #counted = new Set<Bullet>()
  #room: number

  constructor(sections: readonly Section[], max: number) {
    // The last section is not followed by a blank line, and the last line not by a line break.
    this.#room = max + (sections.some(({ title }) => title !== '') ? 2 : 1)
    this.#sections = sections
    this.#ranked = sections
      .flatMap((section) => section.bullets.map((bullet) => ({ section, bullet })))
      .sort((a, b) => b.bullet.rank - a.bullet.rank)
  }

  /** Chooses bullets by rank while there is room. */
  fill(isWanted: (bullet: Bullet) => boolean): void {
    for (const { section, bullet } of this.#ranked) if (isWanted(bullet)) this.#take(section, bullet)
  }

  /**
   * The limits of requests and rules in a text of `max` units. In little room, a rule that is a sentence of a request is not repeated,
   * unless the request is shortened.
   */
  limits(max: number): Limits {
    const all = this.#ranked.filter(({ bullet }) => bullet.must !== undefined)
    const bullets = all.map(({ bullet }) => bullet)
    const share = Math.max(Math.min(max, FEW_UNITS), Math.floor(max * MUST_SHARE))
    let room = Math.min(this.#room, Math.max(share, leastOfMusts(this.#sections)))
    for (const section of new Set(all.map(({ section }) => section)))
      if (!this.#used.has(section)) room -= sectionCost(section)
    const requests = bullets.filter(({ must }) => must === REQUEST)
    const distinct = bullets.filter(
      (bullet) => bullet.must === REQUEST || !requests.some(({ text }) => text.includes(wordsOf(bullet))),
    )
    if (max > LITTLE_UNITS || distinct.length === bullets.length) return limitsOf(bullets, room)
    const limits = limitsOf(distinct, room)
    return requests.every((bullet) => bullet.text.length <= (limits.get(bullet) ?? 0))
      ? limits
      : limitsOf(bullets, room)
  }

  /** Chooses the requests and rules within their limits, and counts those that have no room. */
  fillMusts(limits: Limits): void {
    let first: Candidate | undefined
    for (const candidate of this.#ranked) {
      const { section, bullet } = candidate
      const limit = limits.get(bullet)
      if (limit === 0) {
        this.#counted.add(bullet)
        first ??= candidate
      } else if (limit !== undefined) this.#add(section, bullet, shortenMust(bullet, limit))
    }
    if (first !== undefined)
      this.#add(first.section, first.bullet, `and ${this.#counted.size} more in earlier messages`)
  }

  /** The number of requests and rules that are shortened or only counted. */
  shortened(): number {
    const short = [...this.#chosen].filter(([{ must }, text]) => must !== undefined && SHORTENED.test(text))
    return short.length + this.#counted.size
  }

  /** The units of requests and rules that are not in the text. */
  missing(): number {
    return this.#ranked
      .filter(({ bullet }) => bullet.must !== undefined)
      .reduce((sum, { bullet }) => sum + bullet.text.length - (this.#chosen.get(bullet)?.length ?? 0), 0)
  }

  text(): string {
    return render(
      this.#sections.map((section) => [
        section,
        section.bullets.flatMap((bullet) => this.#chosen.get(bullet) ?? []),
      ]),
    )
  }

  /** Chooses a bullet whole or shortened, or more of it than before. */
  #take(section: Section, bullet: Bullet): void {
    if (this.#counted.has(bullet)) return
    const before = this.#chosen.get(bullet)?.length ?? 0
    const text = cutTo(bullet, this.#room + before - this.#frame(section, bullet))
    if (text !== undefined && text.length > before) this.#add(section, bullet, text)
  }

  #add(section: Section, bullet: Bullet, text: string): void {
    const cost = text.length - (this.#chosen.get(bullet)?.length ?? 0) + this.#frame(section, bullet)
    if (cost > this.#room) return
    this.#chosen.set(bullet, text)
    this.#room -= cost
    this.#used.add(section)
  }

  /** The units of a bullet besides its text, with the heading of its section when it is the first one. */
  #frame(section: Section, bullet: Bullet): number {
    if (this.#chosen.has(bullet)) return 0
    return BULLET_COST + (this.#used.has(section) ? 0 : sectionCost(section))
  }
}

/**
 * The limits of requests and rules that share a room by weight. When there is too little for a few words of each, the most important
 * ones and the newest of the weak ones stay.
 */
function limitsOf(musts: readonly Bullet[], room: number): Limits {
  const limits = new Map<Bullet, number>(musts.map((bullet) => [bullet, 0]))
  const strong = musts.filter(({ must }) => must! > WEAK)
  const weak = musts.filter(({ must }) => must === WEAK)
  const kept: Bullet[] = []
  let spare = room
  for (const bullet of [...strong, ...weak.toReversed()]) {
    const least = leastOf(bullet, room) + BULLET_COST
    if (least > spare) break
    spare -= least
    kept.push(bullet)
  }
  let weights = kept.reduce((sum, { must }) => sum + must!, 0)
  // Those that need least for their weight first: they leave room for the others.
  const needOf = (bullet: Bullet): number => bullet.text.length - leastOf(bullet, room)
  for (const bullet of kept.toSorted((a, b) => needOf(a) / a.must! - needOf(b) / b.must!)) {
    const more = Math.min(needOf(bullet), Math.floor((spare * bullet.must!) / weights))
    limits.set(bullet, leastOf(bullet, room) + more)
    spare -= more
    weights -= bullet.must!
  }
  return limits
}

/** The least units of a request or rule in a room: two requests always fit. */
function leastOf({ text, must }: Bullet, room: number): number {
  const least = must === REQUEST ? Math.min(MIN_MUST, Math.floor(room / 2) - BULLET_COST) : MIN_MUST
  return Math.max(1, Math.min(text.length, least))
}

/** The least units of the requests and firm rules in some sections, with their headings. */
export function leastOfMusts(sections: readonly Section[]): number {
  return sections.reduce((sum, section) => {
    const musts = section.bullets.filter(({ must = 0 }) => must > WEAK)
    const heading = musts.length === 0 ? 0 : sectionCost(section)
    const least = musts.map((bullet) => leastOf(bullet, Number.POSITIVE_INFINITY) + BULLET_COST)
    return least.reduce((units, one) => units + one, sum + heading)
  }, 0)
}

/** A quotation with a label, and the position of its message. */
const QUOTED = /^([^"]{0,40}")(.*)"( \(message \d{1,15}\))?$/s
/** A request or rule that ends with an ellipsis. */
const SHORTENED = /…"?(?: \(message \d{1,15}\))?$/

/** Names the message that a quotation is from. */
export function messageNote(position: number | undefined): string {
  return position === undefined ? '' : ` (message ${position})`
}

/** The quotation of a rule; of another line the whole. */
function wordsOf({ text }: Bullet): string {
  const [, label, words] = QUOTED.exec(text) ?? []
  return words === undefined || !/^(?:User|Earlier): "$/.test(label!) ? text : words
}

/** The weights of requests, of firm rules, and of rules that may become short before the others do. */
export const REQUEST = 4
export const FIRM = 3
export const WEAK = 2

/** The minimum units of the words of a shortened quotation that names its message. */
const MIN_WORDS = 8

/** A request or rule of at most `max` units: without the position of its message when it is whole then, else shortened with it. */
function shortenMust({ text }: Bullet, max: number): string {
  if (text.length <= max) return text
  const [, label, words = '', note = ''] = QUOTED.exec(text) ?? []
  if (label === undefined) return shorten(text, Math.max(1, max))
  const isWhole = !words.endsWith('…')
  if (isWhole && text.length - note.length <= max) return text.slice(0, text.length - note.length)
  const room = max - label.length - 1
  const kept = room - note.length < MIN_WORDS ? '' : note
  return `${label}${shorten(words, Math.max(1, room - kept.length))}"${kept}`
}

function cutTo(bullet: Bullet, max: number): string | undefined {
  if (bullet.text.length <= max) return bullet.text
  if (bullet.must !== undefined) return max < MIN_CUT ? undefined : shortenMust(bullet, max)
  return bullet.cut === true && max >= Math.max(MIN_CUT, bullet.text.length / 2)
    ? shorten(bullet.text, max)
    : undefined
}

/** `- ` and the line break. */
const BULLET_COST = 3

/** `## `, the line break, and the blank line after the section. A section without a title has only its lines. */
function sectionCost({ title }: Section): number {
  return title === '' ? 0 : title.length + 5
}

function render(sections: readonly (readonly [Section, readonly string[]])[]): string {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(
      ([{ title }, lines]) =>
        (title === '' ? '' : `\n## ${title}\n`) + lines.map((line) => `- ${withoutSecrets(line)}`).join('\n'),
    )
    .join('\n')
    .replace(/^\n/, '')
}
