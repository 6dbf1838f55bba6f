import { headOf } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import type { Call } from '../calls.ts'
import { oneLine, shorten, withoutFences } from '../text.ts'
import type { Box } from './conversation.ts'
import { taskKey } from './tasks.ts'
import { isOfTasks, linesWithStates } from './todo-list.ts'

/** The units of a text that are searched for check boxes, and the maximum number of boxes. */
const BOX_UNITS = 100_000
const MAX_BOXES = 500

/** The check boxes of messages and of files that tools wrote, in the order of their lists, each in its newest state. */
export class CheckBoxes {
  readonly #boxes = new Map<string, Box>()

  /** Adds the boxes of a text; a list in a message replaces those of its speaker's earlier ones. */
  add(text: string, source: Pick<Box, 'where' | 'by'>): void {
    const head = headOf(text, BOX_UNITS)
    const boxes = linesWithStates(source.by === undefined ? head : withoutFences(head))
    if (source.by !== undefined && boxes.length >= 2)
      for (const [key, { by, isDone }] of this.#boxes)
        if (by === source.by && !isDone) this.#boxes.delete(key)
    for (const { text, isDone } of boxes) {
      const shown = shorten(text, 160)
      this.#boxes.set(taskKey(shown), { text: shown, isDone, ...source })
      if (this.#boxes.size > MAX_BOXES) this.#boxes.delete(this.#boxes.keys().next().value!)
    }
  }

  /** Adds the boxes that a call wrote; those of the replaced text, or of the replaced file, are removed. */
  addWritten({ input, effect, paths }: Call): void {
    if (effect !== 'write' || !isObject(input)) return
    const where = paths[0] === undefined ? undefined : oneLine(paths[0])
    const replaced = new CheckBoxes()
    const written = new CheckBoxes()
    let isWhole = true
    for (const [name, text] of Object.entries(input)) {
      if (typeof text !== 'string' || isOfTasks(name)) continue
      const isOld = /old|search/i.test(name)
      if (isOld) isWhole = false
      ;(isOld ? replaced : written).add(text, { where })
    }
    if (written.#boxes.size + replaced.#boxes.size === 0) return
    for (const [key, box] of this.#boxes)
      if (!written.#boxes.has(key) && (isWhole ? box.where === where : replaced.#boxes.has(key)))
        this.#boxes.delete(key)
    for (const [key, box] of written.#boxes) this.#boxes.set(key, box)
  }

  /** The boxes of the assistant, and those of a file or the user if one of them was checked: others are forms and templates. */
  all(): Box[] {
    const boxes = [...this.#boxes.values()]
    const checked = new Set(boxes.filter(({ isDone }) => isDone).map(({ where }) => where))
    return boxes.filter(({ by, where }) => by === 'assistant' || checked.has(where))
  }
}
