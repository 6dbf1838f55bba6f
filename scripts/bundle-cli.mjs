import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/*
 * Bundles the command line into dist/cli: the library code it uses and the packages that only it needs. The package's own dependencies
 * stay imports, as do optional peers. The licenses of the bundled packages are written beside the bundle. Another folder may be named.
 */

const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

const outdir = process.argv[2] ?? 'dist/cli'

const { metafile } = await build({
  entryPoints: ['src/cli/main.ts'],
  outdir,
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: Object.keys({ ...dependencies, ...peerDependencies }),
  // CommonJS packages among the bundled ones require Node's modules.
  banner: {
    js: "import { createRequire as _require } from 'node:module'; const require = _require(import.meta.url)",
  },
  logLevel: 'warning',
})

const folders = Object.keys(metafile.inputs).flatMap(
  (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
)
const notices = [...new Set(folders)].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text.trim()}\n`
})
writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`))
