import type { AnsweredRequest } from '../../recovering.ts'
import { uiRowOf } from '../ui-rows.ts'
import type { AppendedRow } from './log.ts'

/** The calls of a model in a turn: one for each step of the answer, with its recorded request. */
export class TurnCalls {
  readonly #requestIds: (string | undefined)[] = []

  /** A call ended. `step`: how many steps of the answer precede it. A call that is repeated counts once. */
  end(step: number, requestId: string | undefined): void {
    this.#requestIds.length = Math.max(this.#requestIds.length, step + 1)
    this.#requestIds[step] = requestId ?? this.#requestIds[step]
  }

  /**
   * Where the answers of the calls are, in what was appended for the answer with an id. Each step has one row of the assistant. A message
   * that was continued and stored again begins with earlier steps; the last step of a broken answer may have no row.
   */
  answersIn(appended: readonly AppendedRow[], messageId: string): AnsweredRequest[] {
    const steps = appended.filter(
      ({ row: { role, metadata } }) => role === 'assistant' && uiRowOf(metadata)?.id === messageId,
    )
    const own = steps.slice(Math.max(0, steps.length - this.#requestIds.length))
    return own.flatMap(({ position }, step) => {
      const requestId = this.#requestIds[step]
      return requestId === undefined ? [] : [{ requestId, positions: [position, position] as const }]
    })
  }
}
