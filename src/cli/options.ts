import { InvalidArgumentError } from 'commander'

/** A whole number from `least` up, as an option takes it. */
export function wholeNumber(least = 0): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(`It must be a whole number from ${least} up.`)
    return value
  }
}

/** An option that may be given several times, or several values with commas. */
export function listed(text: string, before: readonly string[] = []): string[] {
  const found = text.split(',').filter((value) => value !== '')
  if (found.length === 0) throw new InvalidArgumentError('It names nothing.')
  return [...before, ...found]
}

/** The same, of some names only. */
export function listedOf(names: readonly string[]): typeof listed {
  return (text, before) => {
    const found = listed(text, before)
    if (!found.every((name) => names.includes(name)))
      throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`)
    return found
  }
}

/** A share from 0 to 1. */
export function share(text: string): number {
  const value = Number(text)
  if (!/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(text) || value > 1)
    throw new InvalidArgumentError('It must be a share from 0 to 1, such as 0.4.')
  return value
}
