import { detached } from '../../messages/characters.ts'

/** The most directories above a file under which it is found again, and the most working directories that are remembered. */
const MAX_PARENTS = 12
const MAX_DIRECTORIES = 50

/**
 * Finds the spellings of one file: with the separators of Windows or POSIX, in any case on Windows, absolute or relative. A relative path
 * is the absolute one that ends with it, if there is only one; if it is a bare name, only in a known working directory.
 */
export class FilePaths {
  /** Identities by spelling. */
  readonly #known = new Map<string, string>()
  /** The absolute paths by what they end with, in lower case; `undefined` if there are several. */
  readonly #byEnd = new Map<string, string | undefined>()
  /** The relative paths by their lower case. */
  readonly #relatives = new Map<string, string>()
  readonly #directories = new Set<string>()

  /** Remembers a working directory. */
  enter(directory: string | undefined): void {
    if (directory === undefined || !isAbsolute(directory)) return
    const plain = plainPath(directory).replace(/\/$/, '')
    this.#directories.delete(plain)
    this.#directories.add(plain)
    if (this.#directories.size > MAX_DIRECTORIES)
      this.#directories.delete(this.#directories.values().next().value!)
  }

  identityOf(path: string): string {
    const plain = plainPath(path)
    const known = this.#known.get(plain)
    if (known !== undefined) return known
    const identity = detached(isAbsolute(plain) ? this.#absolute(plain) : this.#relative(plain))
    this.#known.set(identity === plain ? identity : detached(plain), identity)
    return identity
  }

  /** The identity of an absolute path: the relative one by which it was named before, or itself. */
  #absolute(plain: string): string {
    let before: string | undefined
    let slash = plain.length
    for (let parents = 0; parents < MAX_PARENTS; parents++) {
      slash = plain.lastIndexOf('/', slash - 1)
      if (slash < 0) break
      const end = plain.slice(slash + 1)
      const key = end.toLowerCase()
      const isFirst = !this.#byEnd.has(key)
      this.#byEnd.set(isFirst ? detached(key) : key, isFirst ? plain : undefined)
      // Where the relative name was used first, it belongs to the first absolute path only.
      const found = this.#relatives.get(key)
      if (isFirst && found !== undefined && this.#mayEndWith(plain, slash) && isSame(plain, found))
        before = found
    }
    return before ?? plain
  }

  #relative(plain: string): string {
    const key = plain.toLowerCase()
    if (!this.#relatives.has(key)) this.#relatives.set(detached(key), detached(plain))
    for (const directory of [...this.#directories].reverse()) {
      const found = this.#known.get(`${directory}/${plain}`)
      if (found !== undefined) return found
    }
    const whole = this.#byEnd.get(key)
    const mayBe = whole !== undefined && this.#mayEndWith(whole, whole.length - plain.length - 1)
    return mayBe && isSame(whole, plain) ? (this.#known.get(whole) ?? plain) : plain
  }

  /** Returns whether what follows a slash may name the file by itself: several segments, or a name in a working directory. */
  #mayEndWith(plain: string, slash: number): boolean {
    return plain.includes('/', slash + 1) || this.#directories.has(plain.slice(0, slash))
  }
}

/** Returns whether an absolute path ends with a relative one that is equal in lower case. */
function isSame(whole: string, end: string): boolean {
  return isWindows(whole) || whole.endsWith(end)
}

function isWindows(path: string): boolean {
  return /^[a-z]:\//i.test(path)
}

export function isAbsolute(path: string): boolean {
  return /^(?:[\\/~$]|[A-Za-z]:[\\/])/.test(path)
}

/** A path with `/` between its parts, without empty ones and `.`; of Windows, in lower case. */
function plainPath(path: string): string {
  const slashed = /^[A-Za-z]:\\|^[^/]+$/.test(path) ? path.replaceAll('\\', '/') : path
  const plain = slashed
    .replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, '')
    .replace(/^\/mnt\/([a-z])\//, '$1:/')
    .replaceAll(/\/(?:\.?\/)+/g, '/')
    .replace(/^\.\//, '')
  return isWindows(plain) ? plain.toLowerCase() : plain
}
