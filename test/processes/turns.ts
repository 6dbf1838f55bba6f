import type { NewMessage } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'

/** Messages of one turn. */
export const TURN_LENGTH = 4

/** The turn a sender sends as its n-th: every message says who sent it and which it is. */
export function turnOf(name: string, turn: number): NewMessage[] {
  const label = `${CANARY} ${name} ${turn}`
  return [
    say('user', `${label} asks ${units(10)}`),
    // Ids repeat from sender to sender, as they do in the wild.
    call(`c${turn}`, 'run', { label }),
    result(`c${turn}`, `${label} result ${units(40)}`),
    say('assistant', `${label} answers ${units(10)}`),
  ]
}
