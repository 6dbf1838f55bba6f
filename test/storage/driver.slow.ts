import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type BuiltProgram, buildProgram } from '../cli/pty/built-program.ts'

/*
 * A driver that cannot be loaded, as it lies in a project of a user's: in processes of their own, because Node keeps what
 * it has loaded once.
 */

const run = promisify(execFile)
const INSTALLED = join(import.meta.dirname, '..', '..', 'node_modules')
const DRIVER = join(INSTALLED, 'better-sqlite3')
const { version: driverVersion } = JSON.parse(readFileSync(join(DRIVER, 'package.json'), 'utf8')) as {
  version: string
}
const { version: node, arch, platform, versions } = process

let program: BuiltProgram
let modules: string
let database: string

beforeAll(async () => {
  program = await buildProgram()
  modules = join(program.folder, 'node_modules')
  database = join(program.folder, 'chats.db')
  rmSync(modules)
  for (const name of readdirSync(INSTALLED).filter((one) => one !== 'better-sqlite3' && one !== '.bin')) {
    mkdirSync(modules, { recursive: true })
    symlinkSync(join(INSTALLED, name), join(modules, name))
  }
  writeFileSync(join(program.folder, 'chats.jsonl'), '{"role":"user","content":"hello"}\n')
  writeFileSync(
    join(program.folder, 'use.mjs'),
    `import { openStore } from './dist/index.js'
     const error = await openStore(${JSON.stringify(database)}).catch((thrown) => thrown)
     console.log(error.code + ': ' + error.message)`,
  )
})
afterAll(() => program.remove())
beforeEach(() => {
  for (const name of ['better-sqlite3', '.pnpm'])
    rmSync(join(modules, name), { recursive: true, force: true })
})

/** The driver without its native part, as an installation leaves it that ran no scripts. */
function installWithoutNative(folder = join(modules, 'better-sqlite3')): void {
  mkdirSync(folder, { recursive: true })
  for (const name of ['lib', 'package.json'])
    cpSync(join(DRIVER, name), join(folder, name), { recursive: true })
}

function writeNative(bytes: string | Buffer): void {
  const file = join(modules, 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

/** What the library and the program say, in one sentence that both must give. */
async function said(...nodeOptions: readonly string[]): Promise<string> {
  const cwd = program.folder
  const arguments_ = [...nodeOptions, program.main, 'import', 'chats.jsonl', '--db', database]
  const [{ stdout }, failed] = await Promise.all([
    run(process.execPath, [...nodeOptions, 'use.mjs'], { cwd }),
    run(process.execPath, arguments_, { cwd }).catch((error: unknown) => error),
  ])
  const sentence = stdout.trim()
  const { code, stderr } = failed as { code: number; stderr: string }
  expect(code).toBe(5)
  expect(stderr).toContain(sentence.replace(/^\w+: /, ''))
  expect(stderr).not.toContain('defect')
  return sentence
}

const APPROVE = ' (npm 12 and later: first npm install-scripts approve better-sqlite3)'
const UNAVAILABLE = "DRIVER_UNAVAILABLE: better-sqlite3 can't be loaded: "

describe('a driver that cannot be loaded gives the reason, and advice', () => {
  it('not installed', async () => {
    const wanted = Number.parseInt(versions.node, 10) < 22 ? 'better-sqlite3@12' : 'better-sqlite3'
    expect(await said()).toBe(
      `${UNAVAILABLE}it is not installed where this program runs. Install it there: npm install ${wanted}`,
    )
  })

  it('installed without install scripts', async () => {
    installWithoutNative()
    expect(await said()).toBe(
      `${UNAVAILABLE}its native part was not built, because install scripts did not run or failed. Run them: npm rebuild better-sqlite3 --ignore-scripts=false${APPROVE}`,
    )
  })

  it('installed by pnpm, which runs install scripts of approved packages only', async () => {
    const folder = join(modules, '.pnpm', `better-sqlite3@${driverVersion}`, 'node_modules')
    installWithoutNative(join(folder, 'better-sqlite3'))
    for (const name of ['bindings', 'file-uri-to-path', 'node-addon-api'])
      if (readdirSync(INSTALLED).includes(name)) symlinkSync(join(INSTALLED, name), join(folder, name))
    symlinkSync(join(folder, 'better-sqlite3'), join(modules, 'better-sqlite3'))
    expect(await said()).toBe(
      `${UNAVAILABLE}its native part was not built, because install scripts did not run or failed. Allow them: pnpm approve-builds, and choose better-sqlite3`,
    )
  })

  it('installed by yarn 4, which runs install scripts of packages that are marked in package.json only', async () => {
    installWithoutNative()
    writeFileSync(join(modules, '.yarn-state.yml'), '')
    const sentence = await said().finally(() => rmSync(join(modules, '.yarn-state.yml')))
    expect(sentence).toBe(
      `${UNAVAILABLE}its native part was not built, because install scripts did not run or failed. Allow them: "dependenciesMeta": { "better-sqlite3": { "built": true } } in package.json, then yarn install`,
    )
  })

  it('compiled for another version of Node', async () => {
    installWithoutNative()
    writeNative('')
    // What Node 20 said of a file that Node 24 had compiled.
    const hook = join(program.folder, 'other-node.cjs')
    writeFileSync(
      hook,
      `process.dlopen = (module, file) => {
         throw Object.assign(new Error(\`The module '\${file}'
was compiled against a different Node.js version using
NODE_MODULE_VERSION 137. This version of Node.js requires
NODE_MODULE_VERSION \${process.versions.modules}. Please try re-compiling or re-installing
the module (for instance, using \\\`npm rebuild\\\` or \\\`npm install\\\`).\`), { code: 'ERR_DLOPEN_FAILED' })
       }`,
    )
    expect(await said('--require', hook)).toBe(
      `${UNAVAILABLE}it was compiled for another version of Node (module version 137; Node ${versions.node} has ${versions.modules}). Compile it for this one: npm rebuild better-sqlite3${APPROVE}`,
    )
  })

  it('built for a newer C library', async () => {
    installWithoutNative()
    writeNative('')
    // What Debian 11 said of a file that was built on Debian 12.
    const hook = join(program.folder, 'old-libc.cjs')
    writeFileSync(
      hook,
      `process.dlopen = (module, file) => {
         throw Object.assign(new Error(\`/lib/x86_64-linux-gnu/libc.so.6: version \\\`GLIBC_2.38' not found (required by \${file})\`), { code: 'ERR_DLOPEN_FAILED' })
       }`,
    )
    expect(await said('--require', hook)).toBe(
      `${UNAVAILABLE}its native part needs a newer C library than this system has. Compile it here: npm_config_build_from_source=true npm rebuild better-sqlite3${APPROVE}`,
    )
  })

  it('damaged, or copied from another system', async () => {
    installWithoutNative()
    writeNative(Buffer.alloc(100))
    expect(await said()).toBe(
      `${UNAVAILABLE}its native part is damaged or was built for a system other than ${platform} ${arch}. Remove node_modules and install the packages again on this system.`,
    )
  })

  it('half installed', async () => {
    installWithoutNative()
    rmSync(join(modules, 'better-sqlite3', 'lib', 'methods'), { recursive: true })
    expect(await said()).toBe(
      `${UNAVAILABLE}it is damaged or incomplete. Remove node_modules and install the packages again on this system.`,
    )
  })

  it.runIf(Number.parseInt(versions.node, 10) < 22)('of a version that would crash this Node', async () => {
    installWithoutNative()
    writeNative('')
    const manifest = join(modules, 'better-sqlite3', 'package.json')
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, '"version": "13.2.0"'),
    )
    expect(await said()).toBe(
      `DRIVER_UNSUPPORTED: better-sqlite3 13.2.0 doesn't work on Node ${node.slice(1)}. Use Node 22 or later, or better-sqlite3@^12.11.1. With npm: npm install better-sqlite3@^12.11.1. With pnpm or yarn, add "better-sqlite3": "^12.11.1" to the overrides (pnpm) or resolutions (yarn), allow its install script, and install again (docs/install.md).`,
    )
  })
})

it('doctor tells of the driver, too', async () => {
  installWithoutNative()
  const { stdout } = (await run(process.execPath, [program.main, 'doctor', '--db', database]).catch(
    (error: unknown) => error,
  )) as { stdout: string }
  expect(stdout).toMatch(/better-sqlite3 [\d.]+: .*its native part was not built/)
  expect(stdout).not.toContain('defect')
})

it('a driver that was made part of a bundle advises to leave it out', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-bundle-'))
  const script = join(folder, 'bundle.mjs')
  await build({
    stdin: {
      contents: `import { openStore } from ${JSON.stringify(join(program.folder, 'dist', 'index.js'))}
        openStore(':memory:').catch((error) => console.log(error.code + ': ' + error.message))`,
      resolveDir: join(INSTALLED, '..'),
    },
    outfile: script,
    nodePaths: [INSTALLED],
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: { js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url)" },
    logLevel: 'error',
  })
  const { stdout } = await run(process.execPath, [script])
  rmSync(folder, { recursive: true, force: true })
  expect(stdout).toMatch(/^DRIVER_UNAVAILABLE: .*it was bundled.*serverExternalPackages/)
})
