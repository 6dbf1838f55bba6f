import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ChatMessage, Part } from 'undertext'

/*
 * A coding session made of this repository's own sources, for machines without the corpus: an agent goes through the files in order,
 * reads each with some of what it imports, looks for the names it uses, changes a passage, and runs the checks. What it writes
 * refers to names it read of long before, as real sessions do. Always the same for the same sources.
 */

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url))
/** Most characters of a file a reading shows, and most imports looked at for one file. */
const MOST_SHOWN = 12_000
const MOST_IMPORTS = 2
/** Lines of a passage that is changed. */
const PASSAGE = 12

type Source = { readonly path: string; readonly text: string; readonly imports: readonly Import[] }
type Import = { readonly names: readonly string[]; readonly path: string }

/** The session, cut behind an answer once it holds so many messages. */
export function madeSession(most = 1_200): ChatMessage[] {
  const sources = sourcesIn(SOURCES)
  const byPath = new Map(sources.map((source) => [source.path, source] as const))
  const session: ChatMessage[] = []
  let calls = 0
  const use = (said: string, toolName: string, input: Record<string, string>, output: string): void => {
    const toolCallId = `call_${++calls}`
    const spoken: Part[] = said === '' ? [] : [{ type: 'text', text: said }]
    session.push(
      { role: 'assistant', content: [...spoken, { type: 'tool-call', toolCallId, toolName, input }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: output } }],
      },
    )
  }
  for (const source of sources) {
    if (session.length >= most) break
    session.push({
      role: 'user',
      content: `Next is ${source.path}: make what it says of its errors shorter.`,
    })
    use(`I read ${source.path} first.`, 'read_file', { path: source.path }, numbered(source.text))
    const known = source.imports.filter(({ path }) => byPath.has(path))
    for (const { path, names } of known.slice(0, MOST_IMPORTS)) {
      use(
        `It takes ${names.join(', ')} from ${path}.`,
        'read_file',
        { path },
        numbered(byPath.get(path)!.text),
      )
    }
    const name = known[0]?.names[0]
    if (name !== undefined) use('', 'grep', { pattern: name, path: 'src' }, linesWith(sources, name))
    const passage = passageOf(source)
    use(
      `The passage with ${namesIn(source).slice(0, 3).join(', ')} can be shorter.`,
      'edit_file',
      { path: source.path, old_string: passage, new_string: passage.replace(/^ *\/\/.*$/gm, '') },
      `${source.path} was changed.`,
    )
    use(
      '',
      'bash',
      { command: `npx tsc --noEmit && npx biome check ${source.path}` },
      'Checked 1 file. No fixes applied.',
    )
    const used = known.flatMap(({ names }) => names).slice(0, 4)
    session.push({
      role: 'assistant',
      content: `${source.path} is done; it still uses ${used.length > 0 ? used.join(', ') : 'nothing else'}.`,
    })
  }
  return session
}

function sourcesIn(folder: string): Source[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
  const place = (file: string): string => join('src', relative(folder, file)).replaceAll('\\', '/')
  return files
    .map((file) => {
      const text = readFileSync(file, 'utf8')
      const imports = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']*)'/gm)].map(
        ([, names = '', path = '']) => ({
          names: names
            .split(',')
            .map((name) => name.trim().replace(/^type /, ''))
            .filter((name) => name !== ''),
          path: place(join(dirname(file), path)),
        }),
      )
      return { path: place(file), text, imports }
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

function numbered(text: string): string {
  return text
    .slice(0, MOST_SHOWN)
    .split('\n')
    .map((line, at) => `${at + 1}\t${line}`)
    .join('\n')
}

function linesWith(sources: readonly Source[], name: string): string {
  const found = sources.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) => (line.includes(name) ? [`${path}:${at + 1}:${line}`] : [])),
  )
  return found.slice(0, 20).join('\n')
}

/** Lines from the middle of a file. */
function passageOf({ text }: Source): string {
  const lines = text.split('\n')
  const from = Math.max(0, Math.floor(lines.length / 2) - PASSAGE / 2)
  return lines.slice(from, from + PASSAGE).join('\n')
}

function namesIn({ text }: Source): string[] {
  return [...text.matchAll(/^export (?:async )?(?:function|const|type|class) (\w+)/gm)].map(
    ([, name = '']) => name,
  )
}
