import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The folder for the files of one run of the benchmark. */
export class Folder {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** A new one. `UNDERTEXT_BENCH_DIR` puts it on another disk. */
  static make(): Folder {
    return new Folder(mkdtempSync(join(process.env.UNDERTEXT_BENCH_DIR ?? tmpdir(), 'undertext-bench-')))
  }

  file(name: string): string {
    return join(this.path, name)
  }

  /** A copy of a file whose store is closed. */
  copy(name: string, to: string): string {
    for (const ending of ['', '-wal', '-shm']) rmSync(this.file(to) + ending, { force: true })
    copyFileSync(this.file(name), this.file(to))
    return this.file(to)
  }

  bytes(name: string): number {
    return statSync(this.file(name)).size
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
