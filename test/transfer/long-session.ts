import { openStore } from '../../src/index.ts'
import { exportHtml } from '../../src/transfer/document/html.ts'
import { exportMarkdown } from '../../src/transfer/document/markdown.ts'
import { exportView } from '../../src/transfer/export-view.ts'

/*
 * Run as a process with little memory: exports a session that is larger than it from the file given. Prints how many
 * megabytes each export has.
 */
const store = await openStore(process.argv[2]!, { readonly: true })
const exports = {
  markdown: exportMarkdown(store, 'long', { hidden: 'show' }),
  html: exportHtml(store, 'long'),
  full: exportView(store, 'long', { full: true, lines: true }),
}
for (const [name, pieces] of Object.entries(exports)) {
  let characters = 0
  for await (const piece of pieces) characters += piece.length
  console.log(name, Math.floor(characters / 1e6))
}
await store.close()
