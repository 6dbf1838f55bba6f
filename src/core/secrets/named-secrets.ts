import type { FoundSecret } from './rule.ts'
import { isRandom, isWritten } from './values.ts'

/*
 * Secrets that only the name before them tells: fields of JSON, YAML and code, variables of an environment, headers, parameters of URLs and
 * command lines, sentences.
 */

const PASSWORD =
  'pass(?:word|wd|wort|phrase|code)|pwd|kennwort|mot de passe|contraseña|senha|пароль|密码|密碼|パスワード|비밀번호'
/** Tokens with which to go on reading a list open nothing. */
const OTHER = [
  '(?<!(?:page|next|sync|continuation|cursor|max|cancel|cancellation|eos|bos|pad|num|special)[ _-]?)token(?!s|iz)',
  'secret(?!s)|credential',
  '(?:api|access|private|encryption|encrypt|signing|account|master|auth|secret|client|service|license|subscription|session|deploy|admin|root)[ _-]?key',
  '(?<upper>[A-Z][A-Z0-9]{1,30}_KEY(?![A-Z]))',
].join('|')
const SUFFIX =
  '(?:[_-]?(?:key|token|id|value|hash|base64|b64|prod|production|dev|test|staging|live|new|old|\\d{1,2})){0,2}'
/** A placeholder names nothing. */
const NAME = `(?<name>(?<password>${PASSWORD})|${OTHER})(?<suffix>${SUFFIX})(?<!\\[redacted: [\\w.-]{0,64})`

const SEPARATOR =
  "(?<separator>=>|:=|={1,3}|:{1,2}|：|%3D|%3A|>|\\bis\\b|\\bist\\b|\\best\\b|\\bes\\b|是|は|(?<=--[\\w-]{0,40})(?=\\s)|(?=\\s{1,3}'))"
const QUOTE = '(?<quote>\\\\{0,3}["\'`]|%22|%27)'
const ASSIGNED = new RegExp(
  `${NAME}(?:\\\\{0,3}["'\`]|%22|\\*{1,2}|\\])?(?<before>\\s{0,3})${SEPARATOR}(?<after>[ \\t]{0,3})(?:\\*{2})?` +
    `(?:[bfru]?${QUOTE}(?<quoted>[^"'\`\\s\\\\]{4,500})\\k<quote>|(?<bare>[^\\s"'\`,;<>(){}[\\]&|\\\\]{6,500}))`,
  'giu',
)
/** The password of a `.netrc`. */
const NETRC = /\blogin\s{1,10}\S{1,64}\s{1,10}password\s{1,10}(?<bare>\S{4,200})/gi

/** The words without which nothing is named, in small letters. */
const WORDS = [
  'pass',
  'pwd',
  'token',
  'secret',
  'credential',
  'key',
  'kennwort',
  'contraseña',
  'senha',
  'пароль',
  '密',
  'パスワード',
  '비밀번호',
]

/** Returns the secrets that follow a name in a text; `small` is the text in small letters. */
export function namedSecrets(text: string, small: string): FoundSecret[] {
  if (!WORDS.some((word) => small.includes(word))) return []
  const found: FoundSecret[] = []
  ASSIGNED.lastIndex = 0
  for (let match = ASSIGNED.exec(text); match !== null; match = ASSIGNED.exec(text)) {
    const { name, password, suffix, quoted, before, after, separator, bare = '' } = match.groups as Groups
    // The value may itself be the name of the next one.
    const value = quoted ?? withoutStop(bare)
    const start = match.index + match[0].lastIndexOf(value)
    const end = start + value.length
    ASSIGNED.lastIndex = match.index + name.length
    const isTight =
      quoted !== undefined || (separator !== 'is' && (before + after === '' || !separator.startsWith('=')))
    if (quoted === undefined && /[([]/.test(text[match.index + match[0].length] ?? '')) continue
    if (isOther(match.groups as Groups) || !isSecretValue(value, password !== undefined, isTight)) continue
    found.push({ kind: kindOf(name + suffix), start, end })
    ASSIGNED.lastIndex = end
  }
  for (const match of text.matchAll(NETRC)) {
    const { bare = '' } = match.groups as Groups
    const end = match.index + match[0].length
    if (isWritten(bare)) found.push({ kind: 'password', start: end - bare.length, end })
  }
  return found
}

type Groups = { readonly [name in 'name' | 'suffix' | 'before' | 'after' | 'separator']: string } & {
  readonly password?: string
  readonly quoted?: string
  readonly bare?: string
  readonly upper?: string
}

/** An id is public, and so are some keys. The names of variables of an environment are in capital letters. */
function isOther({ name, suffix, upper }: Groups): boolean {
  if (/id$/i.test(suffix)) return true
  if (upper === undefined) return false
  return (
    upper !== upper.toUpperCase() ||
    /(?:PUBLIC|PUBLISHABLE|PRIMARY|FOREIGN|CACHE|SORT|PARTITION|OBJECT|FILE|INDEX|LOOKUP|ROUTING)_KEY$/.test(
      name,
    )
  )
}

/** The end of a sentence isn't part of a value. */
function withoutStop(value: string): string {
  return value.replace(/[.:]$|\*\*$/, '')
}

const FIELD = new RegExp(`${NAME}$`, 'iu')

/** Returns whether the text of a JSON field is a secret, by the name of the field. */
export function isSecretField(field: string, text: string): boolean {
  const match = FIELD.exec(field)
  if (match === null || text.length > MAX_VALUE_LENGTH || /\s/.test(text)) return false
  const { password } = match.groups as Groups
  return !isOther(match.groups as Groups) && isSecretValue(text, password !== undefined, true)
}

const MAX_VALUE_LENGTH = 500

export function kindOf(name: string): string {
  if (new RegExp(PASSWORD, 'iu').test(name)) return 'password'
  if (/key/i.test(name)) return 'key'
  return /token/i.test(name) ? 'token' : 'secret'
}

function isSecretValue(value: string, isPassword: boolean, isTight: boolean): boolean {
  if (isPassword) return isPasswordValue(value, isTight)
  return value.length >= MIN_TOKEN_LENGTH && isRandom(value) && !isCode(value, isTight)
}

const MIN_TOKEN_LENGTH = 12
/** What documentation has in place of a password. */
const EXAMPLE =
  /^(?:pass(?:word|wd|phrase)?|pwd|secret|user|admin|test|foo|bar|abc|demo|new|old|my|hash)[-_]?(?:pass(?:word)?)?\d{0,3}!?$/i

/** `isTight`: whether nothing but a value can stand there; elsewhere it may be a variable. */
function isPasswordValue(value: string, isTight: boolean): boolean {
  if (value.length < 6 || value.length > 200 || !isWritten(value) || EXAMPLE.test(value)) return false
  if (isCode(value, isTight) || /^(?:https?:|\.{0,2}\/|~\/|--?[a-z]|@)/i.test(value)) return false
  if (/^\d+$/.test(value)) return isTight && value.length <= 12
  const hasSign = /[!@#$%^&*?+=~]/.test(value)
  return (
    /[\p{L}]/u.test(value) && (/\d/.test(value) || (hasSign && /[a-z]/.test(value) && /[A-Z]/.test(value)))
  )
}

/** Returns whether a value is an expression of a program. */
function isCode(value: string, isTight: boolean): boolean {
  if (/^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value) && /\.[A-Za-z_$]{3,}/.test(value))
    return true
  return !isTight && /^[A-Za-z_$][\w$]*$/.test(value) && !/\d[A-Za-z]+\d/.test(value)
}
