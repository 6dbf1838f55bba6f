import type { JsonObject } from '../../core/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../core/message.ts'
import { keptUnder } from '../../formats/wire.ts'
import { CLAUDE, type OnNote, outputOf, without } from './claude-blocks.ts'
import { textIn } from './entry-fields.ts'

/** A call that no tool has answered yet. `isOwn`: its id is of the export. */
type OpenCall = { readonly id: string; readonly name: string; readonly isOwn: boolean }

/** Puts results to the calls they answer: by id where the export has them, else by the name of the tool, in order. */
export class ClaudeCalls {
  #open: OpenCall[] = []

  /** A block `tool_use`; `undefined` for one without a name. `place` is unique within the conversation. */
  call(block: JsonObject, place: string): ToolCallPart | undefined {
    const name = textIn(block.name)
    if (name === undefined) return undefined
    const own = textIn(block.id)
    const id = own ?? place
    this.#open.push({ id, name, isOwn: own !== undefined })
    const rest = without(block, ['type', 'name', 'input', ...(own === undefined ? [] : ['id'])])
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
    const wanted = textIn(block.tool_use_id)
    const name = textIn(block.name)
    const call = this.#answered(wanted, name)
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

  /** Somebody speaks: calls without an answer get none. */
  forget(): void {
    this.#open = []
  }

  #answered(wanted: string | undefined, name: string | undefined): OpenCall | undefined {
    const isSame = (call: OpenCall): boolean => name === undefined || call.name === name
    const found =
      this.#open.find(({ id, isOwn }) => isOwn && id === wanted) ??
      this.#open.find((call) => (wanted === undefined || !call.isOwn) && isSame(call))
    if (found !== undefined) this.#open.splice(this.#open.indexOf(found), 1)
    return found
  }
}
