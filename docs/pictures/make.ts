import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { type BuiltProgram, buildProgram } from '../../test/cli/pty/built-program.ts'
import { hasTerminals, Terminal } from '../../test/cli/pty/terminal.ts'
import { PICTURES, type Scene } from './scenes.ts'
import { windowSvg } from './window-svg.ts'

/*
 * Makes the pictures of docs/pictures: `npm run pictures`. The real program runs on a pseudoterminal over a store that is made for it;
 * what the screen shows is drawn. Ids, times and texts are the same each time, so that a test can hold the files to it.
 */

const FOLDER = import.meta.dirname
/** When the pictures are taken: 12 January 2026, 10:00 in UTC. */
const TIME = Date.UTC(2026, 0, 12, 10)
const COLUMNS = 110
const ROWS = 200

const run = promisify(execFile)

/** Draws every picture; answers them by the names of their files. */
export async function makePictures(): Promise<ReadonlyMap<string, string>> {
  if (!(await hasTerminals())) return new Map()
  const program = await buildProgram()
  try {
    const studio = await openStudio(program)
    const pictures = new Map<string, string>()
    for (const scene of PICTURES) pictures.set(`${scene.name}.svg`, await draw(studio, scene))
    return pictures
  } finally {
    program.remove()
  }
}

type Studio = {
  readonly folder: string
  readonly args: readonly string[]
  readonly env: { readonly [name: string]: string }
}

async function openStudio({ folder, main }: BuiltProgram): Promise<Studio> {
  const script = join(folder, 'a', 'b', 'c', 'demo-store.mjs')
  await build({
    entryPoints: [join(FOLDER, 'demo-store.ts')],
    outfile: script,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  })
  const world = join(folder, 'fixed-world.mjs')
  copyFileSync(join(FOLDER, 'fixed-world.mjs'), world)
  const env = { DEMO_TIME: String(TIME), UNDERTEXT_DB: join(folder, 'demo.db') }
  const fixed = ['--import', pathToFileURL(world).href]
  await run(process.execPath, [...fixed, script, env.UNDERTEXT_DB], { env: { ...process.env, ...env } })
  return { folder, args: [...fixed, main], env }
}

/** Plays a scene on a terminal of its own and draws what is seen at its end. */
async function draw(
  { folder, args, env }: Studio,
  { title, command, play, columns = COLUMNS, most = ROWS }: Scene,
): Promise<string> {
  const words = command.split(' ').map((word) => word.replace(/^"|"$/g, ''))
  const terminal = new Terminal(process.execPath, [...args, ...words], {
    columns,
    rows: ROWS,
    env,
    cwd: folder,
  })
  try {
    await terminal.show(`\x1b[32m$\x1b[39m undertext ${command}\r\n`)
    if (play === undefined) await terminal.exit()
    else await play(terminal)
    const rows = terminal.cells()
    const used = rows.findLastIndex((row) => row.some((cell) => cell.getChars().trim() !== '')) + 1
    const picture = windowSvg({
      title,
      columns,
      rows: rows.slice(0, Math.min(used, most)),
      isCut: used > most,
    })
    await terminal.leave()
    return picture
  } finally {
    terminal.kill()
  }
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, picture] of await makePictures()) {
    writeFileSync(join(FOLDER, name), picture)
    process.stdout.write(`docs/pictures/${name}\n`)
  }
}
