/**
 * What a JSON text says that breaks off somewhere: the text up to the last place behind which it can be closed. A text that breaks off is
 * told as far as it goes. `undefined` when nothing of it is JSON.
 */
export function partialJson(text: string): unknown {
  const { closers, isString, safeEnd, safeClosers } = scan(text)
  const whole = isString ? `${text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')}"` : text
  for (const candidate of [whole + closers, text.slice(0, safeEnd) + safeClosers]) {
    try {
      return JSON.parse(candidate) as unknown
    } catch {
      // the next one
    }
  }
  return undefined
}

/** What would close a text, at its end and behind the last value that is whole. */
function scan(text: string) {
  const open: string[] = []
  let isString = false
  let safeEnd = 0
  let safeDepth: readonly string[] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isString) {
      if (char === '\\') at += 1
      else if (char === '"') isString = false
      continue
    }
    if (char === '"') isString = true
    else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']')
      safeEnd = at + 1
      safeDepth = [...open]
    } else if (char === '}' || char === ']') {
      open.pop()
      safeEnd = at + 1
      safeDepth = [...open]
    } else if (char === ',') {
      safeEnd = at
      safeDepth = [...open]
    }
  }
  return { closers: closing(open), isString, safeEnd, safeClosers: closing(safeDepth) }
}

function closing(open: readonly string[]): string {
  return open.toReversed().join('')
}
