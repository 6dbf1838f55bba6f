import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/*
 * Prints the software bill of materials of the package as CycloneDX: its dependencies with theirs, in the locked versions, and the packages
 * that `npm run build` puts into the command line. npm makes it, from a manifest that names exactly these: of this one, it would list neither
 * what the build bundles, which are development dependencies, nor what development dependencies need too.
 */

const { name, version, license, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const { packages, ...lock } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const notices = readFileSync('dist/cli/THIRD-PARTY-LICENSES.txt', 'utf8')
const bundled = Object.fromEntries(
  [...notices.matchAll(/^((?:@[^\s/]+\/)?[^\s@/]+) (\d\S*) \([^)]+\)$/gm)].map(([, of, at]) => [of, at]),
)
const root = { name, version, license, dependencies: { ...dependencies, ...bundled } }
// Optional peers of a dependency, such as drivers of other databases, aren't installed with the package.
const locked = Object.entries(packages).map(([path, { peerDependencies: _, ...one }]) => [path, one])

const temporary = mkdtempSync(join(tmpdir(), 'undertext-sbom-'))
try {
  // npm names the package after the folder.
  const cwd = join(temporary, name)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(root))
  const of = { ...lock, packages: { ...Object.fromEntries(locked), '': root } }
  writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify(of))
  const argv = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=library', '--package-lock-only']
  process.stdout.write(execFileSync('npm', argv, { cwd, maxBuffer: 64 * 1024 * 1024 }))
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
