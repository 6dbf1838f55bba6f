import { isObject, stringifyJson } from '../../core/messages/json.ts'

/** The longest first line of a row, in UTF-16 units. */
const MAX_LENGTH = 300

/** Returns one line that says what a message is: its first text, or its calls, results and images. */
export function lineOf(content: unknown): string {
  if (typeof content === 'string') return firstLine(content)
  if (!Array.isArray(content)) return ''
  const lines = content.map(partLine).filter((line) => line !== '')
  const [first = '(empty)'] = lines
  return lines.length > 1 ? `${first}  +${lines.length - 1}` : first
}

function partLine(part: unknown): string {
  if (!isObject(part)) return ''
  switch (part.type) {
    case 'text':
      return firstLine(part.text)
    case 'reasoning':
      return `Reasoning: ${firstLine(part.text)}`
    case 'tool-call':
      return firstLine(`${part.toolName} ${argumentsOf(part.input)}`)
    case 'tool-result':
      return `→ ${outputLine(part.output)}`
    case 'image':
      return '[image]'
    case 'file':
      return `[file${typeof part.filename === 'string' ? ` ${part.filename}` : ''}]`
    default:
      return typeof part.type === 'string' ? `[${part.type}]` : ''
  }
}

function argumentsOf(input: unknown): string {
  return isObject(input)
    ? Object.values(input)
        .map((value) => (typeof value === 'string' ? value : stringifyJson(value as never)))
        .join(' ')
    : input === undefined
      ? ''
      : stringifyJson(input as never)
}

function outputLine(output: unknown): string {
  if (!isObject(output)) return ''
  return Array.isArray(output.value) && output.type === 'content'
    ? lineOf(output.value)
    : firstLine(typeof output.value === 'string' ? output.value : stringifyJson(output.value as never))
}

/** Returns the first line of a text that isn't blank. */
function firstLine(text: unknown): string {
  if (typeof text !== 'string') return ''
  const start = text.slice(0, 4 * MAX_LENGTH).trimStart()
  // A heading's marks say nothing in a list.
  const line = start
    .split('\n', 1)[0]!
    .replace(/^#{1,6}\s+/, '')
    .trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}
