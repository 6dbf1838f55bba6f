import { symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Bundled, bundle } from './bundled.ts'

/** The program as one file that Node runs. It reads its version where the package has it. */
export async function bundleCli(): Promise<Bundled> {
  const bundled = await bundle('src/cli/main.ts')
  const manifest = join(import.meta.dirname, '..', '..', 'package.json')
  symlinkSync(manifest, join(dirname(bundled.script), '..', '..', 'package.json'))
  return bundled
}
