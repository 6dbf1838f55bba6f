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
  /** Its length was chosen by the available room: it is included before other lines. */
  readonly isSized?: boolean
}

export type Section = { readonly title: string; readonly bullets: readonly Bullet[] }

/** A text, the number of requests and rules in it that are shortened, and the units that these lack. */
export type Fitted = { readonly text: string; readonly shortened: number; readonly missing: number }

/** The minimum units of a shortened bullet. */
const LEAST_CUT = 60
/** The share of the room that requests and rules may take before they are shortened, and the minimum units of each. */
const MUST_SHARE = 0.7
const LEAST_MUST = 24
/** The same of one that names its message, while there is room for that. */
const LEAST_NOTED = 40
/** Requests and rules may take all of so little room. */
const FEW_UNITS = 200
/** In so little room, a rule that is a sentence of a request is not repeated. */
const LITTLE_UNITS = 500

/**
 * Renders sections as Markdown of at most `max` units. Bullets are chosen in this order: those of a chosen size, requests and rules,
 * which get their part of `room`, and the others by rank. They keep their order in the text.
 */
export function fitSections(sections: readonly Section[], max: number, room = max): Fitted {
  const filled = sections.filter(({ bullets }) => bullets.length > 0)
  const whole = render(filled.map((section) => [section, section.bullets.map(({ text }) => text)]))
  if (whole.length <= max) {
    const musts = filled.flatMap(({ bullets }) => bullets).filter(({ must }) => must !== undefined)
    return { text: whole, shortened: musts.filter(({ text }) => SHORTENED.test(text)).length, missing: 0 }
  }

  const fitter = new Fitter(filled, max)
  fitter.fill(({ isSized }) => isSized === true)
  const shortened = fitter.fillMusts(room)
  fitter.fill(() => true)
  const text = fitter.text()
  const missing = fitter.missing()
  if (text !== '') return { text, shortened, missing }
  const [first] = filled.flatMap(({ bullets }) => bullets).sort((a, b) => b.rank - a.rank)
  if (first === undefined) return { text: '', shortened: 0, missing }
  return { text: shorten(first.text, max), shortened: 1, missing }
}

type Candidate = { readonly section: Section; readonly bullet: Bullet }

class Fitter {
  readonly #sections: readonly Section[]
  /** All bullets, the most important first. */
  readonly #ranked: readonly Candidate[]
  readonly #chosen = new Map<Bullet, string>()
  readonly #used = new Set<Section>()
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
   * Chooses the requests and rules, and returns the number of shortened ones. Those of one group get room by their weights, and what one
   * does not need is left for the others; the most important group comes first.
   */
  fillMusts(most: number): number {
    const max = Math.max(most, this.#room)
    const all = this.#ranked.filter(({ bullet }) => bullet.must !== undefined)
    const isLittle = max <= LITTLE_UNITS
    const musts = all.filter(
      ({ bullet }, i) =>
        !isLittle || !all.slice(0, Math.min(i, 2)).some((one) => one.bullet.text.includes(wordsOf(bullet))),
    )
    let room = Math.min(this.#room, max <= FEW_UNITS ? max : Math.floor(max * MUST_SHARE))
    for (const section of new Set(musts.map(({ section }) => section)))
      if (!this.#used.has(section)) room -= sectionCost(section)
    const limits = new Map<Bullet, number>()
    const strong = musts.filter(({ bullet }) => bullet.must! > WEAK)
    const everyWeak = musts.filter(({ bullet }) => bullet.must === WEAK)
    const needed = everyWeak.reduce((sum, { bullet }) => sum + bullet.text.length + BULLET_COST, 0)
    const reserved = Math.min(room / 2, needed)
    room = reserved + share(strong, room - reserved, limits)
    const weak = newestWithin(everyWeak, room)
    share(weak, room, limits)
    const [dropped] = everyWeak
    let shortened = everyWeak.length - weak.length
    if (dropped !== undefined && shortened > 0)
      this.#add(dropped.section, dropped.bullet, `and ${shortened} more in earlier messages`)
    for (const { section, bullet } of [...strong, ...weak]) {
      const limit = limits.get(bullet)!
      const text = shortenMust(bullet, limit)
      if (SHORTENED.test(text)) shortened += 1
      this.#add(section, bullet, text)
    }
    return shortened
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

/** The newest of some rules for which there is room when long ones are shortened to 60 units. */
function newestWithin(rules: readonly Candidate[], room: number): readonly Candidate[] {
  let left = room
  let first = rules.length
  while (first > 0) {
    left -= Math.min(rules[first - 1]!.bullet.text.length, LEAST_CUT) + BULLET_COST
    if (left < 0) break
    first -= 1
  }
  return rules.slice(first)
}

/** Sets the limits of requests and rules that share a room, by weight; returns what they leave. */
function share(musts: readonly Candidate[], room: number, limits: Map<Bullet, number>): number {
  let left = room
  let weights = musts.reduce((sum, { bullet }) => sum + bullet.must!, 0)
  const hasRoom = musts.length * (LEAST_NOTED + BULLET_COST) <= room
  // Those that need least for their weight first: they leave room for the others.
  const byNeed = musts.toSorted(
    (a, b) => a.bullet.text.length / a.bullet.must! - b.bullet.text.length / b.bullet.must!,
  )
  for (const { bullet } of byNeed) {
    const weight = bullet.must!
    const least = hasRoom && QUOTED.exec(bullet.text)?.[3] !== undefined ? LEAST_NOTED : LEAST_MUST
    const limit = Math.max(least, Math.floor((left * weight) / weights) - BULLET_COST)
    limits.set(bullet, limit)
    left -= Math.min(limit, bullet.text.length) + BULLET_COST
    weights -= weight
  }
  return Math.max(0, left)
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

/** The weight of rules that may become short before the others do. */
export const WEAK = 1

/** The minimum units of the words of a shortened quotation that names its message. */
const LEAST_WORDS = 8

/** A request or rule of at most `max` units: without the position of its message when it is whole then, else shortened with it. */
function shortenMust({ text }: Bullet, max: number): string {
  if (text.length <= max) return text
  const [, label, words = '', note = ''] = QUOTED.exec(text) ?? []
  if (label === undefined) return shorten(text, Math.max(1, max))
  const isWhole = !words.endsWith('…')
  if (isWhole && text.length - note.length <= max) return text.slice(0, text.length - note.length)
  const room = max - label.length - 1
  const kept = room - note.length < LEAST_WORDS ? '' : note
  return `${label}${shorten(words, Math.max(1, room - kept.length))}"${kept}`
}

function cutTo(bullet: Bullet, max: number): string | undefined {
  if (bullet.text.length <= max) return bullet.text
  if (bullet.must !== undefined) return max < LEAST_CUT ? undefined : shortenMust(bullet, max)
  return bullet.cut === true && max >= LEAST_CUT ? shorten(bullet.text, max) : undefined
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
        (title === '' ? '' : `\n## ${title}\n`) + lines.map((line) => `- ${line}`).join('\n'),
    )
    .join('\n')
    .replace(/^\n/, '')
}
