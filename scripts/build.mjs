import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { build, transform } from 'esbuild'
import { embedPage } from './page.mjs'

/*
 * Bundles the entries of package.json and the command line into dist, in chunks that they share. The package's own dependencies and its
 * optional peers stay imports; the packages that only the command line and the page of the inspector need are part of the chunks, minified,
 * with their licenses beside the program. Declarations that no entry leads to are removed. Another folder than dist may be named.
 */

const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const outdir = process.argv[2] ?? 'dist'
const entries = Object.values(exports).filter((entry) => typeof entry === 'object')

/** CommonJS packages require Node's modules, which a module of ECMAScript cannot. */
const BUILTIN = new RegExp(`\\brequire\\((["'])((?:node:)?(?:${builtinModules.join('|')}))\\1\\)`, 'g')

const minifyPackages = {
  name: 'minify-packages',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => {
      const source = readFileSync(path, 'utf8').replace(
        BUILTIN,
        'globalThis.process.getBuiltinModule($1$2$1)',
      )
      return { contents: (await transform(source, { minify: true })).code }
    })
  },
}

/** What went into the page, which is embedded as text. */
const pageInputs = []

const { metafile } = await build({
  entryPoints: [
    ...entries.map(({ default: file }) => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts')),
    'src/cli/main.ts',
  ],
  outbase: 'src',
  outdir,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: Object.keys({ ...dependencies, ...peerDependencies }),
  plugins: [minifyPackages, embedPage(({ inputs }) => pageInputs.push(...Object.keys(inputs)))],
  logLevel: 'warning',
})

const folders = [...Object.keys(metafile.inputs), ...pageInputs].flatMap(
  (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
)
const notices = [...new Set(folders)].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text.trim()}\n`
})
writeFileSync(join(outdir, 'cli', 'THIRD-PARTY-LICENSES.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`))

/** The declarations that an entry leads to. */
const needed = new Set()
function follow(file) {
  if (needed.has(file) || !existsSync(file)) return
  needed.add(file)
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?['"](\.[^'"]+)['"]/g))
    follow(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
}
for (const { types } of entries) follow(join(outdir, relative('dist', types)))
// The types of drizzle's tables are long, and a third of them is indentation.
for (const file of [...needed].filter((name) => /[\\/]schema\.d\.ts$/.test(name)))
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^ +/gm, ''))
for (const file of readdirSync(outdir, { recursive: true }))
  if (file.endsWith('.d.ts') && !needed.has(join(outdir, file))) rmSync(join(outdir, file))
