import type { ImportProgress } from './import-options.ts'

/** Bytes between two reports at least: a machine that reads 40 MB a second makes ten of them. */
const STEP_BYTES = 4 * 1024 * 1024
/** Reports of a phase at most, for files of any size. */
const MOST_STEPS = 200

/** Tells how far an import is, by bytes: the same calls each time, however fast it goes. */
export class Progress {
  readonly #tell: (progress: ImportProgress) => void
  readonly #size: number
  readonly #step: number
  #phase: ImportProgress['phase'] = 'check'
  #bytes = 0
  #told = 0
  #messages = 0

  constructor(size: number, tell: ((progress: ImportProgress) => void) | undefined) {
    this.#size = size
    this.#tell = tell ?? (() => undefined)
    this.#step = Math.max(STEP_BYTES, Math.ceil(size / MOST_STEPS))
  }

  begin(phase: ImportProgress['phase']): void {
    this.#phase = phase
    this.#bytes = 0
    this.#messages = 0
    this.#say()
  }

  /** Where a reading has come to; one that starts over counts from where it passes the last. */
  reached(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, bytes)
    if (this.#bytes - this.#told >= this.#step) this.#say()
  }

  counted(messages: number): void {
    this.#messages = messages
  }

  end(): void {
    this.#bytes = this.#size
    this.#say()
  }

  #say(): void {
    this.#told = this.#bytes
    this.#tell({ phase: this.#phase, bytes: this.#bytes, size: this.#size, messages: this.#messages })
  }
}
