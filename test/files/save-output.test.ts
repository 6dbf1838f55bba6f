import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { truncateToolOutput } from '../../src/compat/truncate-tool-output.ts'
import { isUndertextError } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'

const OUTPUT = `SECRET ${'line of output\n'.repeat(5_000)}end 🙂`
const uid = process.getuid?.()
const modeOf = (path: string): number => lstatSync(path).mode & 0o777

let world: string
let temporary: string | undefined

beforeEach(() => {
  world = newFolder()
  temporary = process.env.TMPDIR
  process.env.TMPDIR = world
})

afterEach(() => {
  if (temporary === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = temporary
})

function save(saveDir?: string): string {
  const result = truncateToolOutput(OUTPUT, { saveToDisk: true, ...(saveDir !== undefined && { saveDir }) })
  expect(result.content).toContain(`bytes. Full output saved to: ${result.savedPath}]`)
  return result.savedPath!
}

/** The reason of the refusal; the failure must carry figures and no text. */
function refusal(saveDir?: string): string {
  try {
    save(saveDir)
  } catch (error) {
    if (!isUndertextError(error, 'OUTPUT_NOT_SAVED')) throw error
    expect(error.facts.originalSize).toBe(Buffer.byteLength(OUTPUT))
    expect(error.message).not.toContain('SECRET')
    return error.facts.reason
  }
  return 'saved'
}

describe('an output that is saved', () => {
  it('is whole, in a file of a random name that only its owner can read', () => {
    const path = save()
    expect(readFileSync(path, 'utf8')).toBe(OUTPUT)
    expect(basename(path)).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.txt$/)
    expect(dirname(path)).toBe(join(world, `undertext-tool-output-${uid}`))
    expect([modeOf(path), modeOf(dirname(path))]).toEqual([0o600, 0o700])
    expect(save()).not.toBe(path)
    expect(readdirSync(dirname(path)).length).toBe(2)
  })

  it('goes to the folder given, made with its parents for the owner alone', () => {
    const folder = join(world, 'a', 'b')
    expect(dirname(save(folder))).toBe(folder)
    expect([modeOf(folder), modeOf(dirname(folder))]).toEqual([0o700, 0o700])
    expect(readdirSync(world)).toEqual(['a'])
  })

  it('leaves the mode of a folder alone that is there', () => {
    const folder = join(world, 'shared')
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    expect(modeOf(save(folder))).toBe(0o600)
    expect(modeOf(folder)).toBe(0o755)
  })

  it('is written in pieces that cut no character', () => {
    const output = `a${'🙂'.repeat(700_000)}`
    const { savedPath } = truncateToolOutput(output, { saveToDisk: true })
    expect(readFileSync(savedPath!, 'utf8') === output).toBe(true)
  })

  it('is not saved automatically, nor when nothing was cut', () => {
    expect(truncateToolOutput(OUTPUT).savedPath).toBe(undefined)
    expect(truncateToolOutput('short', { saveToDisk: true })).not.toHaveProperty('savedPath')
    expect(readdirSync(world)).toEqual([])
  })
})

describe('nothing is saved, and nothing returned,', () => {
  const ours = (): string => join(world, `undertext-tool-output-${uid}`)

  it('where the folder has been replaced by a link', () => {
    const trap = join(world, 'trap')
    mkdirSync(trap)
    symlinkSync(trap, ours())
    expect(refusal()).toBe('SYMLINK')
    symlinkSync(trap, join(world, 'given'))
    expect(refusal(join(world, 'given'))).toBe('SYMLINK')
    expect(refusal(`${join(world, 'given')}/`)).toBe('SYMLINK')
    symlinkSync(join(world, 'nowhere'), join(world, 'dangling'))
    expect(refusal(join(world, 'dangling'))).toMatch(/^(?:ENOENT|EEXIST|SYMLINK)$/)
    expect(readdirSync(trap)).toEqual([])
    expect(existsSync(join(world, 'nowhere'))).toBe(false)
  })

  it('where the folder lets others in', () => {
    mkdirSync(ours())
    chmodSync(ours(), 0o770)
    expect(refusal()).toBe('NOT_PRIVATE')
    expect(readdirSync(ours())).toEqual([])
  })

  it.skipIf(uid === undefined).each([0o777, 0o770, 0o702])(
    'where others may write in the given folder (%o)',
    (mode) => {
      const given = join(world, 'given')
      mkdirSync(given)
      chmodSync(given, mode)
      expect(refusal(given)).toBe('NOT_PRIVATE')
      expect(readdirSync(given)).toEqual([])
      // Reading is harmless: the files in it are private.
      chmodSync(given, 0o755)
      expect(dirname(save(given))).toBe(given)
    },
  )

  it.skipIf(uid !== 0)('where the folder belongs to another user', () => {
    mkdirSync(ours(), { mode: 0o700 })
    chownSync(ours(), 12_345, 12_345)
    expect(refusal()).toBe('NOT_OWNED')
  })

  it('where there is a file instead of a folder', () => {
    writeFileSync(ours(), '')
    expect(refusal()).toBe('ENOTDIR')
    writeFileSync(join(world, 'file'), '')
    expect(refusal(join(world, 'file'))).toMatch(/^(?:EEXIST|ENOTDIR)$/)
    expect(refusal(join(world, 'file', 'below'))).toBe('ENOTDIR')
  })

  it.skipIf(uid === 0)('where the folder cannot be written to', () => {
    const folder = join(world, 'readonly')
    mkdirSync(folder, { mode: 0o500 })
    expect(refusal(folder)).toBe('EACCES')
  })

  it('where the file system is not for files', () => {
    expect(refusal('/proc/undertext')).toMatch(/^(?:ENOENT|EACCES|EPERM|EROFS)$/)
  })

  it('when the disk is full half way: the part is removed', () => {
    const folder = join(world, 'small')
    const script = join(world, 'script.mts')
    const source = join(import.meta.dirname, '..', '..', 'src', 'compat', 'index.ts')
    writeFileSync(
      script,
      `import { truncateToolOutput } from ${JSON.stringify(source)}
      try {
        truncateToolOutput('x'.repeat(3_000_000), { saveToDisk: true, saveDir: ${JSON.stringify(folder)} })
        console.log('saved')
      } catch (error) { console.log(error.code, error.facts.reason) }`,
    )
    const tsx = join(import.meta.dirname, '..', '..', 'node_modules', 'tsx', 'dist', 'cli.mjs')
    // No file may grow beyond 1 MB (a block is 512 bytes), two thirds short of what is to be written.
    const limited = ['-c', 'ulimit -S -f 2048 && exec "$@"', 'sh', process.execPath, tsx, script]
    const env = { ...process.env, TSX_DISABLE_CACHE: '1' }
    expect(execFileSync('sh', limited, { encoding: 'utf8', env }).trim()).toBe('OUTPUT_NOT_SAVED EFBIG')
    expect(readdirSync(folder)).toEqual([])
  })
})
