import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check, nameSchema } from '../core/messages/check.ts'
import { momentSchema } from '../store/config/store-options.ts'
import type { Store } from '../store/store.ts'
import { exportHtml } from '../transfer/document/html.ts'
import { exportMarkdown } from '../transfer/document/markdown.ts'
import { exportView } from '../transfer/export-view.ts'
import { respond, STORED_POLICY } from './security.ts'
import { ownedBy } from './store-owner.ts'

/* Sessions as files, written as `undertext export` writes them. */

const exportSchema = z.strictObject({
  session: nameSchema,
  owner: nameSchema.optional(),
  format: z.enum(['html', 'markdown', 'json']),
  /** Whether hidden messages are included. Default: in HTML. */
  full: z.boolean().optional(),
  /** The moment of the view or the log, in JSON. */
  at: momentSchema.optional(),
})

type Asked = z.output<typeof exportSchema>

const FORMATS = {
  html: { type: 'text/html; charset=utf-8', ending: 'html' },
  markdown: { type: 'text/markdown; charset=utf-8', ending: 'md' },
  json: { type: 'application/json', ending: 'json' },
} as const

/** Returns a session as a file to save. Throws the errors of the export before the first byte is sent. */
export async function serveExport(store: Store, body: unknown): Promise<Response> {
  const asked = check(exportSchema, body, 'export')
  const own = ownedBy(store, asked.owner)
  const { title } = await own.sessions.get(asked.session)
  const pieces = piecesOf(own, asked)[Symbol.asyncIterator]()
  const first = await pieces.next()
  const { type, ending } = FORMATS[asked.format]
  return respond(streamOf(first, pieces), {
    'content-type': type,
    'content-disposition': `attachment; filename="${fileName(title ?? asked.session)}.${ending}"`,
    'content-security-policy': STORED_POLICY,
  })
}

function piecesOf(store: Store, { session, format, full, at }: Asked): AsyncIterable<string> {
  // The neutral form of `undertext export`: the view, or with `full` the log with its tags.
  if (format === 'json') return exportView(store, session, { format: 'neutral', full: full ?? false, at })
  if (at !== undefined)
    throw invalid('export: at: documents show the session as it is now; use the format json')
  const hidden = full === undefined ? undefined : full ? 'show' : 'omit'
  return format === 'html'
    ? exportHtml(store, session, { hidden })
    : exportMarkdown(store, session, { hidden })
}

/** Returns a name of letters, digits and hyphens, which every file system and every header can hold. */
function fileName(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
  return plain.slice(0, 60).replaceAll(/^-+|-+$/g, '') || 'session'
}

function streamOf(first: IteratorResult<string>, rest: AsyncIterator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let next: Promise<IteratorResult<string>> | IteratorResult<string> = first
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await next
      if (done === true) return controller.close()
      controller.enqueue(encoder.encode(value))
      next = rest.next()
      // The error is thrown when the piece is awaited.
      next.catch(() => undefined)
    },
    async cancel() {
      await rest.return?.()
    },
  })
}
