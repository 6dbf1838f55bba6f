import { headOf } from '../../messages/characters.ts'
import { fieldOf, isObject } from '../../messages/json.ts'
import { commandIn, withoutPrelude } from '../../messages/outcome.ts'
import { type Call, targetOf } from '../calls.ts'
import { oneLine, shorten, shortenPath } from '../text.ts'

/** The maximum units of a call's label. */
const LABEL_UNITS = 80

/** The shell command a call runs, if it is that kind of call. */
export function shellCommand({ effect, input }: Call): string | undefined {
  return effect === 'other' ? commandIn(input) : undefined
}

/** A word with or without quotes, also one with brackets: `app/\(shop\)/[...slug]/page.tsx`. */
const PATH = `("[^"\\n$]{2,200}"|'[^'\\n]{2,200}'|(?:[\\w./~@+-]|\\\\[()[\\] ]|\\[[.\\w]{1,40}\\]){2,200})`
const REDIRECTED = new RegExp(
  `(?:^|[\\n;&|]\\s{0,8})(?:cat|tee)\\b(?=[^\\n]{0,300}<<)[^\\n]{0,200}?(?:(>>?)|(?<=tee)(?: -a)?) {0,2}${PATH}`,
  'g',
)
const IN_PLACE = new RegExp(
  `(?:^|[\\n;&|]\\s{0,8})sed -i(?:\\s{1,4}(?:'[^'\\n]{0,400}'|"[^"\\n]{0,400}"|[^\\s'"|;&]{1,200})){0,20}?\\s{1,4}${PATH}\\s{0,4}(?=$|[\\n;&|])`,
  'g',
)

/** The files that a command writes with `cat > file <<`, `tee file <<` or `sed -i`. */
export function writtenBy(command: string): { readonly path: string; readonly isNew: boolean }[] {
  const written = [...command.matchAll(REDIRECTED)].map(([, arrow, path = '']) => {
    return { path: unquoted(path), isNew: arrow !== '>>' }
  })
  for (const [, path = ''] of command.matchAll(IN_PLACE)) written.push({ path: unquoted(path), isNew: false })
  // Without an ending it may be a word of the shell: `do sed -i 's/a/b/' $f; done`.
  return written.filter(({ path }) => !path.startsWith('/dev/') && /\.\w{1,20}$|\w\/\w|file$/.test(path))
}

function unquoted(word: string): string {
  return word.replace(/^(["'])(.*)\1$/, '$2').replaceAll(/\\([()[\] ])/g, '$1')
}

/** A command that removes, moves or renames files, with its words. */
const REMOVES =
  /(?:^|[\n;&|]|\b(?:then|do|sudo) )[ \t]{0,8}(?:git )?(?:rm|unlink|del|erase|remove-item|(mv|move|ren|(?:move|rename)-item))((?:[ \t]{1,8}(?:"[^"\n$]{0,500}"|'[^'\n]{0,500}'|(?:\\.|[^\s;&|<>"'`$\\]){1,500})){1,60})/gi
const WORD = /"[^"]*"|'[^']*'|(?:\\.|\S)+/g
const PATCH_REMOVES =
  /\*\*\* (?:Delete File: ([^\n\\"]{1,500})|Update File: ([^\n\\"]{1,500})(?:\n|\\n)\*\*\* Move to: ([^\n\\"]{1,500}))/g

/** A file that is no longer at its path; `to`: its new path. */
type Removal = { readonly path: string; readonly to?: string | undefined }

/** The files that a call removes or moves: by a command, a patch, or the name of the tool. */
export function removedBy(call: Call, command: string | undefined): Removal[] {
  if (command !== undefined) return removedByCommand(command.split('<<', 1)[0]!)
  const { name, input, effect, paths } = call
  if (effect !== 'write') return []
  const fields: [string, unknown][] = isObject(input) ? Object.entries(input) : [['', input]]
  const patched = fields.flatMap(([, text]) =>
    typeof text === 'string' ? [...text.matchAll(PATCH_REMOVES)] : [],
  )
  if (patched.length > 0)
    return patched.map(([, path, from = '', to]) => (path === undefined ? { path: from, to } : { path }))
  const how = fieldOf(input, 'command') ?? name
  if (/(?:delete|remove)(?:_?files?)?$/i.test(String(how))) return paths.map((path) => ({ path }))
  const from = /move|rename/i.test(String(how))
    ? fields.find(([field]) => /src|source|old|from/i.test(field))?.[1]
    : undefined
  return typeof from === 'string' ? [{ path: from, to: paths[0] }] : []
}

function removedByCommand(command: string): Removal[] {
  return [...command.matchAll(REMOVES)].flatMap(([, moves, words = '']): Removal[] => {
    const paths = [...words.matchAll(WORD)]
      .map(([word]) => unquoted(word))
      .filter((word) => !word.startsWith('-'))
    if (moves === undefined) return paths.map((path) => ({ path: path.replace(/\/\*?$/, '') }))
    const to = paths.pop() ?? ''
    const isFolder = paths.length > 1 || to.endsWith('/')
    return paths.map((path) => ({
      path,
      to: isFolder ? `${to}/${path.slice(path.lastIndexOf('/') + 1)}` : to,
    }))
  })
}

/** Commands that only look at files, and arguments of tools that search. */
export const LOOKS =
  /^(?:ls|cat|head|tail|wc|grep|rg|find|fd|tree|pwd|which|echo|file|stat|du|sed -n|nl|git (?:status|log|diff|show|branch|ls-\w+|remote|rev-parse))\b(?!.*>)/
const SEARCHES = ['pattern', 'query', 'glob', 'regex', 'todos']

/** Whether a call only looks at files or searches. */
export function isInspection(call: Call): boolean {
  const command = shellCommand(call)
  if (command !== undefined) return LOOKS.test(gistOf(command))
  return isObject(call.input) && SEARCHES.some((name) => Object.hasOwn(call.input as object, name))
}

/** The absolute directory that a command changes to first. */
export function directoryOf(command = ''): string | undefined {
  return /^\s*(?:cd|pushd) (?:\/d )?["']?((?:[/~$]|[A-Za-z]:[\\/])[^\s&;|`"']{1,200})/.exec(command)?.[1]
}

const CHECKOUT =
  /\bgit (?:-C \S{1,200} )?(?:(?:checkout|switch)(?: -\w| --[a-z]{1,20}){0,3}|worktree add(?: --?[a-z-]{1,20}){0,3}?(?: -[bB])) ([\w./-]{1,100})(?: [\w./-]{1,100})?\s{0,4}(?=$|[\n;&|2>])/g
/** What git prints about the branch that it is on: after a checkout, in a status, of a commit. */
const ON_BRANCH =
  /^(?:.{0,200}\b[Ss]witched to (?:a new |and reset )?branch '?|Already on '|On branch |## (?=[\w./-]{1,100}\.\.\.)|\[|Preparing worktree \((?:new branch|checking out) ')([\w./-]{1,100}?)(?:'|\.\.\.|$| (?:\(root-commit\) )?[0-9a-f]{7,40}\])/gm

/** The branch that a command is on at its end: by its output, else by the last checkout in it. */
export function branchOf(command: string, output: string): string | undefined {
  if (!/\b(?:git|gh) /.test(command)) return undefined
  const printed = [...output.matchAll(ON_BRANCH)].at(-1)?.[1]
  const asked = [...command.matchAll(CHECKOUT)].at(-1)
  // Without a flag it may be a file: `git checkout src/main.ts`.
  const isFile = asked !== undefined && !/ -+[a-z]/i.test(asked[0]) && /^\.|\.\w{1,5}$/.test(asked[1]!)
  return printed ?? (isFile ? undefined : asked?.[1])
}

/** The subject of the commit that a command makes. */
export function commitSubject(command: string): string | undefined {
  if (!command.includes('git commit')) return undefined
  const subject = /git commit\b[^\n]{0,200}?-[a-z]*m\s*(?:"([^"]+)|'([^']+))/.exec(command)
  const text = subject?.[1] ?? subject?.[2]
  if (text === undefined || text.startsWith('$(')) return undefined
  return shorten(oneLine(text.split('\n')[0] ?? ''), 140)
}

/** A shell command without the change of directory before it and the filter of its output after it. */
export function gistOf(command: string): string {
  const text = withoutPrelude(command)
  const pipe = text.lastIndexOf('|')
  // Looked for from the last pipe: a pattern that begins with spaces would take the square of their number.
  return pipe >= 0 && /^\|\s*(?:head|tail)\b[^|]{0,30}$/.test(text.slice(pipe))
    ? text.slice(0, pipe).trimEnd()
    : text
}

/** A call as text: its name and its target. */
export function callLabel(call: Call, command: string | undefined): string {
  const target = command === undefined ? targetOf(call) : oneLine(headOf(gistOf(command), 2 * LABEL_UNITS))
  if (target === undefined || target === '') return call.name
  const shown = call.paths.length > 0 ? shortenPath(target, LABEL_UNITS) : shorten(target, LABEL_UNITS)
  return `${call.name} \`${shown.replaceAll('`', "'")}\``
}
