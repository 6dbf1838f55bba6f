import { isObject, type Json, parsedJson } from './json.ts'
import type { TextCall } from './text-commands.ts'
import { effectOf } from './tool-names.ts'

/*
 * Traces: the calls that an export of a client writes into the assistant's texts. A heading names the tool in bold or as code, and what
 * it worked on; arguments and result follow in fences or in the same element: `Tool use: **read_file** • Read file: src/a.ts`.
 */

/** A call with what its trace shows of the result. */
type Trace = TextCall & { readonly output: string }

const MAX_TRACES = 500
const HEADING =
  /^(?:<tool[\w-]{0,20} [^>\n]{1,300}>\s{0,4})?(?:<details[^>\n]{0,100}>\s{0,4})?(<summary>)?[^\p{L}\n<*`]{0,8}tool(?: [a-z]{2,8})?: {0,2}(?:\*\*|`)([\w.:-]{2,60})(?:\*\*|`)([^\n]{0,2000})$/gimu
const FENCE = /^```(\w{0,20})[^\n]{0,100}\n([\s\S]*?)\n?```/gm
const END = /<\/details>\s{0,4}(?:<\/tool[\w-]{0,20}>)?/y

/** A line that names only what was done and the file: `Read file: src/a.ts`. */
const DONE = /^[ \t]{0,8}(\p{L}{3,10}) file: ([^\n]{1,300}\S)[ \t]*$/gimu

/** Returns the traces in a text, and the text without them. Takes linear time. */
export function tracesIn(text: string): { readonly traces: readonly Trace[]; readonly text: string } {
  const traces: Trace[] = []
  let bare = ''
  let from = 0
  for (const { 0: heading, 1: summary, 2: name = '', 3: rest = '', index } of text.matchAll(HEADING)) {
    if (index < from || traces.length >= MAX_TRACES) continue
    const start = index + heading.length
    // In an element, up to its end; below a heading, its fence.
    const close =
      summary === undefined || rest.includes('</details>') ? start : text.indexOf('</details>', start)
    // No later element ends either.
    if (close < 0) break
    END.lastIndex = close
    const tail = summary === undefined ? '' : (END.exec(text)?.[0] ?? '')
    const fence = summary === undefined ? (/^\s{0,4}```[\s\S]*?\n```/.exec(text.slice(start))?.[0] ?? '') : ''
    // Such a heading alone may also be prose about a tool.
    if (summary === undefined && fence === '' && effectOf(name, {}) === 'other') continue
    bare += text.slice(from, index)
    from = close + tail.length + fence.length
    traces.push(traceOf(name, rest.replace(/<\/summary>.*$/, ''), fence || text.slice(start, close)))
  }
  bare += text.slice(from)
  const left = bare.replace(DONE, (line, verb: string, path: string) => {
    const toolName = `${verb.toLowerCase()}_file`
    if (effectOf(toolName, {}) === 'other' || traces.length >= MAX_TRACES) return line
    traces.push({ toolName, input: { path }, output: '' })
    return ''
  })
  return { traces, text: left }
}

function traceOf(toolName: string, about: string, body: string): Trace {
  const fences = [...body.matchAll(FENCE)]
  const [first] = fences
  const data = first && parsedJson(first[2]!)
  const isGiven = isObject(data) && !/result|output/i.test(body.slice(0, first!.index))
  const isShell = /^(?:ba|z|power)?sh(?:ell)?$|^console$/.test(first?.[1] ?? '')
  // What follows a label: `• Read file: src/a.ts`.
  const target = about
    .replace(/^[^\p{L}\d/~.]{1,8}/u, '')
    .replace(/^[\p{L} ]{2,30}: /u, '')
    .replace(/[\s`]{1,20}$/, '')
  const input: Json = isGiven ? data : isShell ? { command: first![2]! } : inputOf(toolName, target)
  const results = isGiven || isShell ? fences.slice(1) : fences
  return { toolName, input, output: results.at(-1)?.[2] ?? (fences.length > 0 ? '' : body.trim()) }
}

function inputOf(toolName: string, target: string): Json {
  if (target === '') return {}
  return effectOf(toolName, {}) === 'other' ? { query: target } : { path: target }
}
