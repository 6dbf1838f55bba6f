import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/*
 * The page of the inspector: its script, its style and its icon as texts. The build embeds them in the package; in the repository,
 * src/inspect/assets.ts makes them when they are first requested.
 */

const ROOT = join(import.meta.dirname, '..')

/** The largest script and style together, compressed. */
const MAX_COMPRESSED_BYTES = 350_000

/** Bundles the page. Returns its files, and esbuild's list of what went into them. */
export async function bundlePage() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { app: 'src/inspect/page/main.tsx' },
    outdir: 'page',
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'silent',
  })
  const textOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
  const icon = readFileSync(join(ROOT, 'src', 'inspect', 'icon.svg'), 'utf8')
  return { files: { script: textOf('.js'), style: textOf('.css'), icon }, metafile }
}

/** A plugin of esbuild that replaces the module `assets.ts` with one that holds the files. `onBundled` receives esbuild's list. */
export function embedPage(onBundled = () => {}) {
  return {
    name: 'embed-page',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]inspect[\\/]assets\.ts$/ }, async () => {
        const { files, metafile } = await bundlePage()
        const compressed = gzipSync(files.script).length + gzipSync(files.style).length
        if (compressed > MAX_COMPRESSED_BYTES)
          throw new Error(
            `app.js and app.css have ${compressed} bytes compressed; at most ${MAX_COMPRESSED_BYTES}`,
          )
        onBundled(metafile)
        return { contents: `export const pageFiles = async () => (${JSON.stringify(files)})` }
      })
    },
  }
}
