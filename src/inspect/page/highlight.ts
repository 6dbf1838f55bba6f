import type { RootContent } from 'hast'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'

/* Code in colors. The grammars are regular expressions on foreign text, so long texts and long lines stay plain. */

const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, markdown, php },
  ...{ python, ruby, rust, sql, swift, typescript, xml, yaml },
})

const MAX_LENGTH = 50_000
/** Grammars that take quadratic time to look for a function's head: they read a shorter text, in pieces. */
const QUADRATIC: ReadonlySet<string> = new Set(['c', 'h', 'cpp', 'c++', 'cc', 'csharp', 'c#', 'cs', 'java'])
const MAX_QUADRATIC_LENGTH = 20_000
const PIECE_LENGTH = 2_000
const MAX_LINE_LENGTH = 1_000

/** A stretch of code in one color: the name of its kind, as highlight.js calls it. */
export type Colored = { readonly text: string; readonly kind?: string }

/** Returns the stretches of a text; undefined if the language isn't known or the text is too long. */
export function colored(text: string, language: string | undefined): readonly Colored[] | undefined {
  if (language === undefined || !lowlight.registered(language)) return undefined
  const isQuadratic = QUADRATIC.has(language)
  if (text.length > (isQuadratic ? MAX_QUADRATIC_LENGTH : MAX_LENGTH)) return undefined
  if (text.split('\n').some((line) => line.length > MAX_LINE_LENGTH)) return undefined
  try {
    const pieces = isQuadratic ? piecesOf(text) : [text]
    return pieces.flatMap((piece) => stretchesOf(lowlight.highlight(language, piece).children))
  } catch {
    return undefined
  }
}

/** Divides a text at the ends of lines. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = text.lastIndexOf('\n', from + PIECE_LENGTH)
    const to = from + PIECE_LENGTH >= text.length ? text.length : end > from ? end + 1 : from + PIECE_LENGTH
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

type Waiting = { readonly node: RootContent; readonly kind: string | undefined }

/** Without recursion: foreign code may be nested deeper than the stack. */
function stretchesOf(nodes: readonly RootContent[]): Colored[] {
  const stretches: Colored[] = []
  const waiting: Waiting[] = nodes.map((node) => ({ node, kind: undefined })).reverse()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, kind } = next
    if (node.type === 'text') stretches.push({ text: node.value, ...(kind !== undefined && { kind }) })
    if (node.type !== 'element') continue
    const [name] = Array.isArray(node.properties.className) ? node.properties.className : []
    const own = typeof name === 'string' ? name.replace('hljs-', '') : kind
    for (const child of node.children.toReversed()) waiting.push({ node: child, kind: own })
  }
  return stretches
}

const BY_ENDING: { readonly [ending: string]: string } = {
  ...{
    sh: 'bash',
    bash: 'bash',
    zsh: 'bash',
    c: 'c',
    h: 'c',
    cc: 'cpp',
    cpp: 'cpp',
    hpp: 'cpp',
    cs: 'csharp',
  },
  ...{
    css: 'css',
    scss: 'css',
    diff: 'diff',
    patch: 'diff',
    go: 'go',
    toml: 'ini',
    ini: 'ini',
    java: 'java',
  },
  ...{
    js: 'javascript',
    jsx: 'javascript',
    mjs: 'javascript',
    cjs: 'javascript',
    json: 'json',
    kt: 'kotlin',
  },
  ...{ md: 'markdown', php: 'php', py: 'python', rb: 'ruby', rs: 'rust', sql: 'sql', swift: 'swift' },
  ...{
    ts: 'typescript',
    tsx: 'typescript',
    mts: 'typescript',
    html: 'xml',
    svg: 'xml',
    xml: 'xml',
    vue: 'xml',
  },
  ...{ yaml: 'yaml', yml: 'yaml' },
}

/** Returns the language of a file by the ending of its name. */
export function languageOf(path: string | undefined): string | undefined {
  const ending = path === undefined ? undefined : /\.([a-z]{1,6})$/i.exec(path)?.[1]?.toLowerCase()
  return ending !== undefined && Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined
}
