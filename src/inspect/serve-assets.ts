import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { respond } from './security.ts'

/* The script, the style and the icon of the page. */

const FILES = {
  'app.js': { file: 'script', type: 'text/javascript; charset=utf-8' },
  'app.css': { file: 'style', type: 'text/css; charset=utf-8' },
  'icon.svg': { file: 'icon', type: 'image/svg+xml' },
} as const

/** The name of a file of the page. */
type AssetName = keyof typeof FILES

export function isAssetName(name: string): name is AssetName {
  return Object.hasOwn(FILES, name)
}

type Asset = { readonly text: string; readonly compressed: Uint8Array<ArrayBuffer>; readonly tag: string }

let assets: Promise<{ readonly [name in AssetName]: Asset }> | undefined

/** Serves a file. The browser keeps it and asks each time whether it is still the same. */
export async function serveAsset(name: AssetName, request: Request): Promise<Response> {
  assets ??= loadAssets()
  // A file that couldn't be made is tried again.
  assets.catch(() => {
    assets = undefined
  })
  const { text, compressed, tag } = (await assets)[name]
  const caching = { etag: tag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  if (request.headers.get('if-none-match') === tag) return respond(null, caching, 304)
  const headers = { ...caching, 'content-type': FILES[name].type }
  return acceptsGzip(request)
    ? respond(compressed, { ...headers, 'content-encoding': 'gzip' })
    : respond(text, headers)
}

async function loadAssets(): Promise<{ readonly [name in AssetName]: Asset }> {
  const { pageFiles } = await import('./assets.ts')
  const files = await pageFiles()
  const made = Object.entries(FILES).map(async ([name, { file }]) => {
    const text = files[file]
    const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    return [
      name,
      { text, compressed: new Uint8Array(await promisify(gzip)(text)), tag: `W/"${tag}"` },
    ] as const
  })
  return Object.fromEntries(await Promise.all(made)) as { readonly [name in AssetName]: Asset }
}

function acceptsGzip(request: Request): boolean {
  return /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?(?:\s*(?:,|$)))/i.test(
    request.headers.get('accept-encoding') ?? '',
  )
}
