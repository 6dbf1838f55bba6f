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
const MAX_LINE_LENGTH = 1_000

/** A stretch of code in one color: the name of its kind, as highlight.js calls it. */
export type Colored = { readonly text: string; readonly kind?: string }

/** Returns the stretches of a text; undefined if the language isn't known or the text is too long. */
export function colored(text: string, language: string | undefined): readonly Colored[] | undefined {
  if (language === undefined || text.length > MAX_LENGTH || !lowlight.registered(language)) return undefined
  if (text.split('\n').some((line) => line.length > MAX_LINE_LENGTH)) return undefined
  const stretches: Colored[] = []
  for (const node of lowlight.highlight(language, text).children) addStretches(stretches, node, undefined)
  return stretches
}

function addStretches(into: Colored[], node: RootContent, kind: string | undefined): void {
  if (node.type === 'text') into.push({ text: node.value, ...(kind !== undefined && { kind }) })
  if (node.type !== 'element') return
  const [name] = Array.isArray(node.properties.className) ? node.properties.className : []
  const own = typeof name === 'string' ? name.replace('hljs-', '') : kind
  for (const child of node.children) addStretches(into, child, own)
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
