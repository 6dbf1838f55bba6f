import { keptUnder } from '../../ecosystems/wire.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../messages/message.ts'
import { CLAUDE, type OnNote, outputOf, without } from './claude-blocks.ts'
import { textIn } from './entry-fields.ts'

/** A call that no tool has answered yet. `isOwn`: its id is of the export. `batch`: which calls were made together. */
type OpenCall = {
  readonly id: string
  readonly name: string
  readonly isOwn: boolean
  readonly batch: number
}

/**
 * Puts results to the calls they answer: by id where the export has them, else by the name of the tool, in order, among the calls that were made
 * together just before.
 */
export class ClaudeCalls {
  #open: OpenCall[] = []
  #batch = 0
  #isCalling = false

  /** A block `tool_use`; `undefined` for one without a name. `place` is unique within the conversation. */
  call(block: JsonObject, place: string): ToolCallPart | undefined {
    const name = textIn(block.name)
    if (name === undefined) return undefined
    if (!this.#isCalling) this.#batch += 1
    this.#isCalling = true
    const own = ownId(block)
    const id = own ?? place
    this.#open.push({ id, name, isOwn: own !== undefined, batch: this.#batch })
    const rest = without(block, ['type', 'name', 'input', ...(block.id === id ? ['id'] : [])])
    return {
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: block.input ?? null,
      ...keptUnder(CLAUDE, rest),
    }
  }

  /** A block `tool_result`. One that answers no call stands for itself. */
  result(block: JsonObject, place: string, path: string, onNote: OnNote): ToolResultPart {
    this.#isCalling = false
    const wanted = textIn(block.tool_use_id)
    const name = textIn(block.name)
    const call = this.#answered(wanted, name, () =>
      onNote(
        `${path}: the file does not say which of several calls it answers: it is put to the first`,
        'mended',
      ),
    )
    const toolCallId = call?.id ?? wanted ?? place
    const toolName = call?.name ?? name
    const { output, rest } = outputOf(block, path, onNote)
    const told = ['type', 'content', 'is_error']
    if (toolCallId === wanted) told.push('tool_use_id')
    if (toolName === name) told.push('name')
    return {
      type: 'tool-result',
      toolCallId,
      ...(toolName !== undefined && { toolName }),
      output,
      ...keptUnder(CLAUDE, { ...without(block, told), ...rest }),
    }
  }

  /** Something else is said: calls behind it are not made together with those before. */
  say(): void {
    this.#isCalling = false
  }

  /** A person speaks: calls without an answer get none. */
  forget(): void {
    this.#isCalling = false
    this.#open = []
  }

  #answered(wanted: string | undefined, name: string | undefined, onDoubt: () => void): OpenCall | undefined {
    const isFit = (call: OpenCall): boolean =>
      call.batch === this.#batch &&
      (wanted === undefined || !call.isOwn) &&
      (name === undefined || call.name === name)
    const byId = this.#open.find(({ id, isOwn }) => isOwn && id === wanted)
    const fit = byId === undefined ? this.#open.filter(isFit) : [byId]
    if (fit.length > 1) onDoubt()
    const [found] = fit
    if (found !== undefined) this.#open.splice(this.#open.indexOf(found), 1)
    return found
  }
}

/** The id of a call: its own field, or one within what it is called with. */
function ownId({ id, input }: JsonObject): string | undefined {
  return textIn(id) ?? (isObject(input) ? textIn(input._tool_call_id) : undefined)
}
