import type { Seen } from '../owners.ts'

/** Fragments that become a word, or nothing. */
const WORDS: { readonly [name: string]: string } = {
  index: '',
  cross: 'join',
  find: 'cross join lateral (select * from',
  where: 'where',
  distinct: 'distinct on (r.message, r.part)',
  last: 'order by r.message, r.part, r.compaction desc',
  '+': '',
  instr: 'strpos',
  array: 'json_build_array',
  kept: 'for key share',
  age: '(added, family, no)',
  ages: 'added, family, no',
  newest: 'added desc, family desc, no desc',
}

/** The family and the number of the current session, and the owner whose sessions are seen. */
export type Added = 'family' | 'session' | 'owner'

export type Translated = {
  readonly text: string
  /** What the engine adds, in this order, after the parameters. */
  readonly added: readonly Added[]
  /** The parameters without those. */
  readonly parameters: number
}

/** Matches texts, quoted names and comments, which are kept; then fragments, parameters, and the names of the store's tables. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\{(?<fragment>[^{}]*)\}|\?(?<number>\d*)|(?<![\w.])undertext_(?<table>\w+)(?!\w|\s*\.)/gi

/** Words that may follow a table or a list where an alias could stand. */
const AFTER =
  /^(?:where|join|inner|left|right|full|cross|natural|on|using|order|group|having|limit|offset|union|intersect|except|set|values|select|default|returning|window|for|do|and|or|when|then|else|end)$/i

const ALIAS = /^\s+(?:as\s+)?([a-z_]\w*)/i

/**
 * Translates a statement in the common SQL (../sql/sql.ts) for the tables of a schema. A table's name becomes its alias, so that
 * `undertext_messages.key` is a column in both engines: `from undertext_messages` becomes `from "schema".messages as undertext_messages`.
 */
export function translate(text: string, schema: string, seen?: Seen): Translated {
  const parameters = parametersOf(text)
  const added: Added[] = []
  const quoted = `"${schema.replaceAll('"', '""')}"`
  let plain = 0

  const given = (what: Added): string => {
    if (!added.includes(what)) added.push(what)
    return `$${parameters + 1 + added.indexOf(what)}::${what === 'owner' ? 'text' : 'bigint'}`
  }
  const parameter = (number: string): string => `$${number === '' ? ++plain : number}`
  const fragmentOf = (fragment: string, rest: string): string => {
    const [name = '', argument = '', second = ''] = fragment.split(' ')
    if (name === 'family') {
      const column = argument === '' ? 'family' : `${argument}.family`
      return `${column} = ${given('family')} and`
    }
    if (name === 'named')
      return `${argument === '' ? 'undertext_sessions' : argument}.no = ${given('session')} and`
    if (name === 'seen') {
      if (seen === undefined) return ''
      const column = `${argument === '' ? 'undertext_sessions' : argument}.owner`
      return seen === null ? `${column} is null and` : `${column} = ${given('owner')} and`
    }
    if (name === 'family,') {
      if (argument !== '') return `${argument}.family,`
      given('family')
      return 'family,'
    }
    if (name === '?,') return `${given('family')},`
    if (name === 'schema') return quoted
    // Without `offset 0`, the server would read the whole table, because it can't know the number of rows.
    if (name === 'found') return `offset 0) ${argument}`
    if (name === 'latest') return `${argument}.compaction`
    if (name === 'same') return `${argument}.family = ${second}.family and`
    if (name === 'int') return `(${argument}.value ->> ${second})::bigint`
    if (name === 'at') return `(${argument}::json ->> ${second})::bigint`
    if (name === 'number') return `(${argument}::json ->> '${second}')::numeric`
    if (name === 'unhex') return `decode(${argument}.value ->> ${second}, 'hex')`
    if (name === 'elements')
      return `json_array_elements(${argument.startsWith('?') ? parameter(argument.slice(1)) : argument}::json)`
    const word = WORDS[name]
    if (word !== undefined) return word
    const type = { list: 'bigint', texts: 'text' }[name]
    if (type === undefined || !argument.startsWith('?'))
      throw new Error(`{${fragment}} isn't an SQL fragment.`)
    const list = `(select value::${type} as value from json_array_elements_text(${parameter(argument.slice(1))}::json))`
    return hasAlias(rest) ? list : `${list} as list`
  }

  const translated = text.replaceAll(TOKEN, (token, ...found) => {
    const { fragment, number, table } = found.at(-1) as Record<string, string | undefined>
    const rest = text.slice((found.at(-3) as number) + token.length)
    if (fragment !== undefined) return fragmentOf(fragment, rest)
    if (number !== undefined) return parameter(number)
    if (table === undefined) return token
    const name = `${quoted}.${table}`
    return hasAlias(rest) ? name : `${name} as undertext_${table}`
  })
  return { text: translated, added, parameters }
}

/** Returns the number of parameters of a statement. Either all of them are numbered, or none. */
function parametersOf(text: string): number {
  const numbers: string[] = []
  for (const { groups } of text.matchAll(TOKEN)) {
    const number = groups?.number ?? /^(?:list|texts|elements) \?(\d*)$/.exec(groups?.fragment ?? '')?.[1]
    if (number !== undefined) numbers.push(number)
  }
  if (numbers.every((number) => number === '')) return numbers.length
  if (numbers.includes('')) throw new Error('A statement cannot mix plain and numbered parameters.')
  return numbers.reduce((most, number) => Math.max(most, Number(number)), 0)
}

function hasAlias(rest: string): boolean {
  const word = ALIAS.exec(rest)?.[1]
  return word !== undefined && !AFTER.test(word)
}
