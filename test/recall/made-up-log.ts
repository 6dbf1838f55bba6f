import type { NewMessage } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'
import type { LogQuestion } from './log-questions.ts'

/* Logs whose facts are known, because they are made here; the questions use other words than the log where they can. */

const PLACES =
  'harbour lighthouse quarry orchard brewery library airfield vineyard sawmill observatory'.split(' ')
const THINGS = 'pump crane furnace turbine conveyor boiler generator compressor centrifuge press'.split(' ')
const PEOPLE = 'Ada Boris Chloe Darko Elif Farid Greta Hugo Ines Jonas'.split(' ')
const DOINGS = 'painted repaired borrowed sold photographed dismantled insured moved cleaned inspected'.split(
  ' ',
)
const ASKED = 'paint repair borrow sell photograph dismantle insure move clean inspect'.split(' ')

/** `service`: outputs of 3,000 characters with a figure deep within. `story`: sentences, with small talk between. */
export function madeUpLog(
  kind: 'service' | 'story',
  count: number,
  random: () => number,
): { readonly messages: NewMessage[]; readonly questions: LogQuestion[] } {
  const messages: NewMessage[] = []
  const questions: LogQuestion[] = []
  const combinations = PLACES.flatMap((place) => THINGS.map((thing) => ({ place, thing })))
  for (let at = 0; at < count; at++) {
    const { place, thing } = combinations[at % combinations.length]!
    const round = Math.floor(at / combinations.length)
    const answer = String(100_000 + Math.floor(random() * 899_999))
    if (kind === 'service') {
      const noise = (lines: number): string[] =>
        Array.from(
          { length: lines },
          (_, line) => `trace ${line} ${Math.floor(random() * 1e9).toString(36)} idle`,
        )
      const serial = `${['spring', 'autumn'][round]} service of the ${thing} in the ${place}: serial number ${answer}`
      messages.push(
        say('user', `Check the ${place}.`),
        call(`c${at}`, 'diagnose', { unit: `${place}-${at}` }),
        result(`c${at}`, [...noise(60), serial, ...noise(40)].join('\n'), 'diagnose'),
        say('assistant', 'All is well.'),
      )
      questions.push({
        question: `Which serial number did the ${thing} of the ${place} have at the ${['spring', 'autumn'][round]} service?`,
        ...{ answer, kind, message: messages.length - 2 },
      })
    } else {
      const who = PEOPLE[(at * 7 + round) % PEOPLE.length]!
      const doing = (at * 3 + Math.floor(at / 10) + round) % DOINGS.length
      messages.push(
        say(
          'user',
          `By the way, ${who} ${DOINGS[doing]} the ${thing} near the ${place} for ${answer} crowns.`,
        ),
        say('assistant', 'Noted. Shall we go on with the plan?'),
        say('user', `Yes, go on with step ${at}.`),
        say('assistant', `Step ${at} is done, and nothing unusual came up.`),
      )
      questions.push({
        question: `How much did ${who} get or pay to ${ASKED[doing]} the ${thing} at the ${place}?`,
        ...{ answer, kind, message: messages.length - 4 },
      })
    }
  }
  return { messages, questions }
}
