/**
 * What a JSON text says that breaks off somewhere: the text up to the last place behind which it can be closed. A text that breaks off is
 * told as far as it goes. `undefined` when nothing of it is JSON.
 */
export function partialJson(text: string): unknown {
  const { closers, isString, safeEnd } = scan(text)
  const whole = isString ? `${text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')}"` : text
  for (const candidate of [whole, text.slice(0, safeEnd)]) {
    try {
      return JSON.parse(candidate + closers) as unknown
    } catch {
      // the next one
    }
  }
  return undefined
}

/**
 * What would close a text, and where the last value that is whole ends. Whatever opens or closes something is such a place, so both ends
 * have the same closers.
 */
function scan(text: string): { closers: string; isString: boolean; safeEnd: number } {
  const open: string[] = []
  let isString = false
  let safeEnd = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isString) {
      if (char === '\\') at += 1
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === ',') safeEnd = at
    else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']')
      safeEnd = at + 1
    } else if (char === '}' || char === ']') {
      open.pop()
      safeEnd = at + 1
    }
  }
  return { closers: open.reverse().join(''), isString, safeEnd }
}
