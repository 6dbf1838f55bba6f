import { headOf } from '../../messages/characters.ts'
import { countNames, isTellingName, KEYWORDS } from './facts.ts'

/*
 * Definitions without a keyword: functions of C and related languages, and objects that SQL creates.
 */

/** Words that never precede a name and a parenthesis in the head of a function. */
const NO_TYPE =
  /^(?:return|else|if|for|while|do|switch|case|new|throw|await|yield|typeof|delete|go|defer|import|from|export|function|class|interface|record|trait|impl|type|module|namespace|def|fn|fun|func|sub|proc|let|var|val|using|use|goto|sizeof|assert|print|echo|test|describe|it|and|or|not|in|is|when|match|unless|until|object|protocol|with)\b/
const HEAD =
  /^((?:[A-Za-z_][\w:<>]{0,60}[\s*&]{1,6}){1,6})((?:[A-Za-z_]\w{0,60}::){0,3})(~?[A-Za-z_]\w{1,60})( ?)\(([^=;]*)$/

/** A parameter with its type. */
const PARAMETER = /^(?:(?:const|struct|unsigned) )?[\w:<>]{1,60}[ *&]{1,4}\w{1,60}(?:\[\w{0,20}\])?,/

/**
 * The name of a function from its head, an unindented line of C or C++, and its type. `opensNext`: the next line begins with a
 * brace.
 */
function functionOfC(
  text: string,
  opensNext: boolean,
): { readonly name: string; readonly owner?: string } | undefined {
  if (!text.includes('(') || NO_TYPE.test(text)) return undefined
  const [, , scope = '', name, space, behind = ''] = HEAD.exec(text) ?? []
  if (name === undefined) return undefined
  const isOpen = text.endsWith('{') && behind.includes(')')
  const isWhole = opensNext && behind.includes(')')
  // Parameters on lines of their own: prose has a space before its parentheses.
  const isBroken = text.endsWith(',') && space === '' && PARAMETER.test(behind)
  if (!isOpen && !isWhole && !isBroken) return undefined
  const owner = scope.split('::').at(-2)
  return owner === undefined ? { name } : { name, owner }
}

const CREATED =
  /^create\s{1,4}(?:or\s{1,4}replace\s{1,4})?(?:(?:global|local|temp|temporary|unlogged|unique|virtual|materialized)\s{1,4}){0,2}(table|view|index|function|procedure|trigger|type|sequence|schema)\s{1,4}(?:concurrently\s{1,4})?(?:if\s{1,4}not\s{1,4}exists\s{1,4})?([\w."`[\]]{1,120})/i

/** The object that a line of SQL creates. */
function createdBySql(text: string): { readonly name: string; readonly kind: string } | undefined {
  const [, kind, path] = CREATED.exec(text) ?? []
  const name = path
    ?.replaceAll(/["`[\]]/g, '')
    .split('.')
    .at(-1)
  // "Create table views" is prose: SQL continues with parentheses, a body or a table.
  if (kind === undefined || name === undefined || !/^[A-Za-z_]\w*$/.test(name)) return undefined
  if (!/^CREATE/.test(text) && !/\(|\b(?:as|on|returns)\b|;$/i.test(text)) return undefined
  return { name, kind: kind.toLowerCase() }
}

/** A definition in code. */
export type Definition = {
  readonly name: string
  /** `class`, `interface`, `type` and the like; empty for functions and constants. */
  readonly kind: string
  /** Methods and fields. */
  members: readonly string[]
  /** The value of a constant, when it is short. */
  readonly value?: string
}

/** The outline of code, read line by line, for any language that defines names by keywords. */
export type Outline = {
  readonly defines: Map<string, Definition>
  /** The names imported from each module. */
  readonly imports: Map<string, Set<string>>
  /** Other names, with their counts. */
  readonly uses: Map<string, number>
}

/** The longest line that is read, and the maximum lines of an import. */
const LINE_UNITS = 300
const IMPORT_LINES = 80
/** The maximum number of members of a definition, and of definitions of a text. */
const MAX_MEMBERS = 150
const MAX_DEFINITIONS = 200

/** Modifiers, and the keywords of definitions. */
const MODIFIERS = new Set(
  'export default declare public private protected internal static final abstract async pub unsafe override open sealed data inline virtual suspend partial readonly'.split(
    ' ',
  ),
)
const CONTAINERS = new Set(
  'class interface struct trait enum record object protocol impl type module namespace union'.split(' '),
)
const FUNCTIONS = new Set('function def fn fun func sub proc'.split(' '))
const VALUES = new Set('const let var val static'.split(' '))
const IMPORTS = new Set(['import', 'from', 'use', 'require', 'using', 'include'])

/** A name after a keyword, the text between them (`*`, a receiver) and the text after it. */
const NAMED = /^(?:\*\s*)?(?:\(([^()]{0,80})\)\s*)?([A-Za-z_$][\w$]*)\s*(.{0,80})/
const LITERAL = /^(?::[^=]{1,40})?=\s*(-?\d[\w.]{0,20}|"[^"]{1,40}"|'[^']{1,40}')\s*[;,]?\s*$/
const CONSTANT =
  /^([A-Z][A-Z0-9_]{2,60})(?::[^=]{1,40})?\s*=\s*(-?\d[\w.]{0,20}|"[^"]{1,40}"|'[^']{1,40}')\s*;?$/
/** The declared name in a line of a member, after at most three words. */
const METHOD = /^(?:[\w.<>[\]?*&]{1,40}\s+){0,3}[#*]?([A-Za-z_$][\w$]{1,60})\s*(?:<[^<>()]{0,40}>)?\(/
const FIELD = /^(?:[\w<>[\],.]{1,40}\s+){0,4}#?([A-Za-z_$][\w$]{1,60})[?!]?\s*[:=;]/
/** A line number at the beginning of a line, as tools that show files print it. */
const NUMBERED = /^\s{0,8}\d{1,7}(?:\t|→|\| ?|: |:(?=\S))/

/** `public:` and similar labels, which are not members and have another indent. */
const SECTION = /^(?:public|private|protected|signals|slots)\b[\w ]{0,20}:$/
/** Words that are often called but are also names of members. */
const MEMBER_NAMES = new Set(
  'get set init match format test any number string object print is of not with'.split(' '),
)

export function noOutline(): Outline {
  return { defines: new Map(), imports: new Map(), uses: new Map() }
}

/** Merges two outlines of one file, `first` first. */
export function mergeOutlines(first: Outline, second: Outline): Outline {
  const merged = noOutline()
  for (const { defines, imports, uses } of [first, second]) {
    for (const definition of defines.values()) {
      const known = put(merged, { ...definition })
      for (const name of definition.members) addMember(known, name)
    }
    for (const [module, names] of imports) {
      const known = merged.imports.get(module) ?? new Set()
      for (const name of names) known.add(name)
      merged.imports.set(module, known)
    }
    for (const [name, count] of uses) merged.uses.set(name, (merged.uses.get(name) ?? 0) + count)
  }
  return merged
}

type Container = { readonly of: Definition; readonly indent: number; inner: number }

/** Adds the definitions of a text to an outline. Reads the beginning of each line once. */
export function readOutline(code: string, outline: Outline): void {
  countNames(code, outline.uses)
  const isNumbered = NUMBERED.test(headOf(code, 40))
  let container: Container | undefined
  let pending: string | undefined
  let pendingLines = 0
  for (let from = 0; from < code.length; ) {
    let end = code.indexOf('\n', from)
    if (end < 0) end = code.length
    let line = code.slice(from, Math.min(end, from + LINE_UNITS))
    from = end + 1
    if (isNumbered) line = line.replace(NUMBERED, '')
    const text = line.trim()
    if (text === '') continue
    if (pending !== undefined) {
      pending += ` ${text}`
      if (/[})]/.test(text) || ++pendingLines > IMPORT_LINES) {
        readImport(pending, outline)
        pending = undefined
      }
      continue
    }
    const indent = line.length - line.trimStart().length
    if (container !== undefined && indent <= container.indent) container = undefined
    // The indent of a body's first line is that of its members; deeper lines are inside a member.
    if (container !== undefined && container.inner === 0 && !SECTION.test(text)) container.inner = indent
    const { word, rest } = firstWord(text)
    const created = word === 'create' || word === 'CREATE' ? createdBySql(text) : undefined
    if (created !== undefined) {
      put(outline, { ...created, members: [] })
      continue
    }
    const isType = CONTAINERS.has(word) && !/^(?:struct|enum|union)$/.test(word)
    if (indent === 0 && !isType && !FUNCTIONS.has(word)) {
      const found = functionOfC(text, code[from] === '{')
      if (found !== undefined && !KEYWORDS.has(found.name)) {
        if (found.owner === undefined) put(outline, { name: found.name, kind: '', members: [] })
        else addMember(put(outline, { name: found.owner, kind: 'class', members: [] }), found.name)
        continue
      }
    }
    if (IMPORTS.has(word) || (word === 'export' && / from ['"]/.test(text)) || text.startsWith('#include')) {
      if (/^[^'"]*[{(][^})]*$/.test(text)) {
        pending = text
        pendingLines = 0
      } else readImport(text, outline)
      continue
    }
    const definition = CONTAINERS.has(word) || FUNCTIONS.has(word) || VALUES.has(word)
    if (definition) {
      const found = define(word, rest, indent, container, outline)
      if (found !== undefined && CONTAINERS.has(word)) container = { of: found, indent, inner: 0 }
      continue
    }
    if (container === undefined) {
      // A shell function.
      const shell = /^([A-Za-z_]\w{1,60})\(\)\s*\{/.exec(text)?.[1]
      if (shell !== undefined && indent === 0) put(outline, { name: shell, kind: '', members: [] })
      // A constant in a language without a keyword for it.
      const [, name, value] = (indent === 0 && CONSTANT.exec(text)) || []
      if (name !== undefined && value !== undefined) put(outline, { name, kind: '', members: [], value })
      continue
    }
    if (indent === container.inner) addMember(container.of, METHOD.exec(text)?.[1] ?? FIELD.exec(text)?.[1])
  }
  if (pending !== undefined) readImport(pending, outline)
}

/** The first word of a line that is not a modifier, and the text after it. */
function firstWord(text: string): { readonly word: string; readonly rest: string } {
  let at = 0
  for (let tries = 0; tries < 6; tries++) {
    const [whole, word] = /^([A-Za-z_]+)(?:\([a-z]{1,10}\))?[!*]?\s*/.exec(text.slice(at, at + 60)) ?? []
    if (whole === undefined || word === undefined) return { word: '', rest: '' }
    // "const fn" and "static async def" have modifiers before the keyword; in "const x" the keyword is const.
    const next = /^[a-z]+/.exec(text.slice(at + whole.length, at + whole.length + 12))?.[0] ?? ''
    const leads = MODIFIERS.has(word) || (VALUES.has(word) && (FUNCTIONS.has(next) || next === 'enum'))
    if (!leads || (word === 'static' && !/^[a-z]/.test(next)))
      return { word, rest: text.slice(at + whole.length) }
    at += whole.length
  }
  return { word: '', rest: '' }
}

function define(
  word: string,
  rest: string,
  indent: number,
  container: Container | undefined,
  outline: Outline,
): Definition | undefined {
  const [, receiver, name = '', behind = ''] = NAMED.exec(rest) ?? []
  if (name.length < 2 || (KEYWORDS.has(name) && !MEMBER_NAMES.has(name))) return undefined
  // Deeper lines belong to a member.
  if (container !== undefined && container.inner > 0 && indent > container.inner && !CONTAINERS.has(word))
    return undefined
  if (FUNCTIONS.has(word)) {
    // In Go the type is before the function's name; elsewhere it is the class around the function.
    const owner = receiver === undefined ? container?.of : ownerOf(receiver, outline)
    if (owner !== undefined) addMember(owner, name)
    else return put(outline, { name, kind: '', members: [] })
    return undefined
  }
  if (VALUES.has(word)) {
    if (indent > 0 && container === undefined) return undefined
    const value = LITERAL.exec(behind)?.[1]
    const isFunction = /=>|=\s*(?:async\s*)?(?:function|\()/.test(behind)
    if (container !== undefined) addMember(container.of, name)
    else if (isTellingName(name) || isFunction || value !== undefined)
      put(outline, { name, kind: '', members: [], ...(value !== undefined && { value }) })
    return undefined
  }
  if (word === 'impl') {
    const target = / for ([A-Za-z_]\w*)/.exec(rest)?.[1] ?? name
    return put(outline, { name: target, kind: 'struct', members: [] })
  }
  if (word === 'type' && !/^(?:<[^=]{0,60}>)?\s*(?:=|struct|interface|\w)/.test(behind)) return undefined
  return put(outline, { name, kind: word, members: [] })
}

function ownerOf(receiver: string, outline: Outline): Definition | undefined {
  const name = /([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*$/.exec(receiver)?.[1]
  return name === undefined ? undefined : put(outline, { name, kind: 'type', members: [] })
}

function put({ defines }: Outline, definition: Definition): Definition {
  const known = defines.get(definition.name)
  if (known !== undefined) return known
  if (defines.size < MAX_DEFINITIONS) defines.set(definition.name, definition)
  return definition
}

function addMember(owner: Definition, name: string | undefined): void {
  if (name === undefined || (KEYWORDS.has(name) && !MEMBER_NAMES.has(name)) || owner.members.includes(name))
    return
  if (owner.members.length < MAX_MEMBERS) owner.members = [...owner.members, name]
}

/** The maximum number of modules of a text, and of names of a module. */
const MAX_MODULES = 80
const MAX_IMPORTED = 60

function readImport(statement: string, { imports }: Outline): void {
  // Go lists its modules in parentheses.
  if (/^import\s*\(/.test(statement) && statement.includes('"')) {
    for (const [, module = ''] of headOf(statement, 8_000).matchAll(/"([^"\s]{1,120})"/g))
      if (imports.size < MAX_MODULES && !imports.has(module)) imports.set(module, new Set())
    return
  }
  const text = headOf(statement, 2_000)
  const quoted = /['"<]([^'"<>\s]{1,120})['">]/.exec(text)?.[1]
  const python = /^from\s+([\w.]+)\s+import\s+(.*)$/.exec(text)
  const dotted = /^(?:import|use|using)\s+(?:static\s+)?([\w.:$]+)/.exec(text)?.[1]
  const module = python?.[1] ?? quoted ?? dotted?.replace(/::$/, '')
  if (module === undefined || module === 'type') return
  const names = imports.get(module) ?? new Set<string>()
  if (!imports.has(module) && imports.size >= MAX_MODULES) return
  imports.set(module, names)
  const listed = python?.[2] ?? /\{([^}]*)\}/.exec(text)?.[1] ?? ''
  const first =
    quoted === undefined
      ? ''
      : (/^import\s+(?:type\s+)?(?:\*\s+as\s+)?([A-Za-z_$][\w$]*)/.exec(text)?.[1] ?? '')
  for (const item of [first, ...listed.split(',')]) {
    const name = /([A-Za-z_$][\w$]*)\s*$/.exec(item.trim())?.[1]
    if (name !== undefined && !KEYWORDS.has(name) && names.size < MAX_IMPORTED) names.add(name)
  }
}
