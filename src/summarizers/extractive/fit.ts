import { headOf } from '../../messages/characters.ts'
import { shorten } from '../text.ts'

/** One line of a summary. */
export type Bullet = {
  readonly text: string
  /** How much it matters, 0 to 1,000, against all others. */
  readonly rank: number
  /** Whether it may be shortened: as prose, or as a list by dropping items behind a comma. Default: all or nothing. */
  readonly cut?: 'prose' | 'list'
  /** Goes in before the shares of the sections count. */
  readonly vital?: boolean
  /** Its length was chosen by the room there is: it goes in before all others. */
  readonly isSized?: boolean
  /** Belongs to the section's heading: shown whenever the section is. */
  readonly isIntro?: boolean
}

export type Section = {
  readonly title: string
  /** Part of the room it may take while others are waiting; the shares of all sections make about 1. */
  readonly share: number
  readonly bullets: readonly Bullet[]
}

/** Least units worth starting a section's share with, and worth shortening a bullet to. */
const LEAST_SHARE = 160
const LEAST_CUT = 60

/** Below so many units not every section can have a place. */
const SHORT = 2_400
/** Share from which a section counts as large. */
const LARGE_SHARE = 0.3

function size({ share }: Section): number {
  return share >= LARGE_SHARE ? 1 : 0
}

/** How many times its share a section may take for its vital bullets. */
const VITAL_SHARES = 2

/**
 * Renders sections as Markdown of at most `max` units. What does not fit is left out, least important first:
 * vital bullets are taken first, then each section fills its share, then what room is left goes by rank.
 * Bullets stay in the order given.
 */
export function fitSections(sections: readonly Section[], max: number): string {
  const filled = sections.filter(({ bullets }) => bullets.some(({ isIntro }) => isIntro !== true))
  const whole = render(filled.map((section) => [section, section.bullets.map(({ text }) => text)]))
  if (whole.length <= max) return whole

  const fitter = new Fitter(filled, max)
  for (const section of fitter.byImportance) {
    fitter.fill(section, max, ({ isSized }) => isSized === true)
  }
  for (const section of fitter.byImportance) {
    fitter.fill(
      section,
      Math.max(max * section.share * VITAL_SHARES, LEAST_SHARE),
      ({ vital }) => vital === true,
    )
  }
  // Where there is room for all, the small sections come before the large ones that could take everything.
  const order = max < SHORT ? fitter.byImportance : fitter.byImportance.toSorted((a, b) => size(a) - size(b))
  for (const section of order) fitter.fill(section, Math.max(max * section.share, LEAST_SHARE))
  fitter.fillRest()

  const text = fitter.text()
  if (text !== '') return text
  const [first] = filled.flatMap(({ bullets }) => bullets).sort((a, b) => b.rank - a.rank)
  return first === undefined ? '' : shorten(first.text, max)
}

/** What a line quotes, where it is long enough to be known by. */
const QUOTE = /^[^"]{0,40}"([^"]{24,})/

class Fitter {
  readonly byImportance: readonly Section[]
  readonly #sections: readonly Section[]
  readonly #ranked = new Map<Section, readonly Bullet[]>()
  readonly #chosen = new Map<Section, Map<Bullet, string>>()
  readonly #used = new Map<Section, number>()
  readonly #quotes = new Set<string>()
  #room: number

  constructor(sections: readonly Section[], max: number) {
    // The last section has no blank line behind it.
    this.#room = max + 2
    this.#sections = sections
    for (const section of sections) {
      const own = section.bullets.filter(({ isIntro }) => isIntro !== true)
      this.#ranked.set(
        section,
        own.sort((a, b) => b.rank - a.rank),
      )
      this.#chosen.set(section, new Map())
      this.#used.set(section, 0)
    }
    const top = (section: Section) => this.#ranked.get(section)?.[0]?.rank ?? 0
    this.byImportance = sections.toSorted((a, b) => top(b) - top(a))
  }

  /** Takes bullets of a section in order of rank until `limit` units of it are used. */
  fill(section: Section, limit: number, wanted: (bullet: Bullet) => boolean = () => true): void {
    for (const bullet of this.#ranked.get(section) ?? []) {
      if (!wanted(bullet)) continue
      const left = Math.min(limit - this.#usedBy(section), this.#room)
      if (left < LEAST_CUT) return
      this.#take(section, bullet, left)
    }
  }

  /** Takes what is left over, of all sections, in order of rank, while there is room. */
  fillRest(): void {
    const rest = this.#sections.flatMap((section) => {
      return (this.#ranked.get(section) ?? []).map((bullet) => ({ section, bullet }))
    })
    rest.sort((a, b) => b.bullet.rank - a.bullet.rank)
    for (const { section, bullet } of rest) {
      if (this.#room < LEAST_CUT) return
      this.#take(section, bullet, this.#room)
    }
  }

  text(): string {
    return render(
      this.#sections.map((section) => {
        const chosen = this.#chosen.get(section)
        if (chosen === undefined || chosen.size === 0) return [section, []]
        return [
          section,
          section.bullets.flatMap((bullet) => (bullet.isIntro ? bullet.text : (chosen.get(bullet) ?? []))),
        ]
      }),
    )
  }

  /** Takes a bullet whole or cut, or more of it than before, where it costs no more than `room`. */
  #take(section: Section, bullet: Bullet, room: number): void {
    const chosen = this.#chosen.get(section)
    if (chosen === undefined) return
    const before = chosen.get(bullet)
    if (before !== undefined && before.length >= bullet.text.length) return
    const frame = chosen.size === 0 ? sectionCost(section) : 0
    const fixed = before === undefined ? frame + BULLET_COST : -before.length
    const text = cutTo(bullet, room - fixed)
    if (text === undefined || text.length <= (before?.length ?? 0)) return
    if (before === undefined && this.#isTold(bullet)) return
    chosen.set(bullet, text)
    this.#room -= fixed + text.length
    this.#used.set(section, this.#usedBy(section) + fixed + text.length)
  }

  /** Whether what a bullet quotes stands in a bullet taken before: short of room, nothing is said twice. */
  #isTold({ text, vital }: Bullet): boolean {
    const [, quote] = QUOTE.exec(text) ?? []
    if (quote === undefined) return false
    const key = headOf(quote, 80)
    if (this.#quotes.has(key) && vital !== true) return true
    this.#quotes.add(key)
    return false
  }

  #usedBy(section: Section): number {
    return this.#used.get(section) ?? 0
  }
}

function cutTo(bullet: Bullet, max: number): string | undefined {
  if (bullet.text.length <= max) return bullet.text
  if (bullet.cut === undefined || max < LEAST_CUT) return undefined
  if (bullet.cut === 'prose') return shorten(bullet.text, max)
  const head = headOf(bullet.text, max + 1)
  const end = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '))
  return end < LEAST_CUT / 2 ? undefined : bullet.text.slice(0, end)
}

/** `- ` and the line's end. */
const BULLET_COST = 3

/** `## `, the line's end, the blank line behind the section, and what belongs to the heading. */
function sectionCost({ title, bullets }: Section): number {
  return bullets.reduce(
    (sum, { isIntro, text }) => sum + (isIntro ? BULLET_COST + text.length : 0),
    title.length + 5,
  )
}

function render(sections: readonly (readonly [Section, readonly string[]])[]): string {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([{ title }, lines]) => `## ${title}\n${lines.map((line) => `- ${line}`).join('\n')}`)
    .join('\n\n')
}
