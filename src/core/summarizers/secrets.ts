/*
 * Credentials in the lines of a summary. A summary is sent again and again, and may be copied elsewhere; the message keeps the original.
 */

/** Names of fields with a secret, and what stands between a name and its value. A session's token is needed to go on, and expires. */
const FIELD =
  '(?<!\\p{L})(?:\\w{1,30}[_-])?(?:pass(?:word|wort|wd|phrase)|pwd|kennwort|mot de passe|contraseña|senha|пароль|密码|密碼|パスワード|비밀번호|secret|(?<!(?:session|page|next|sync|continuation)[_-]?)token|(?:api|access|private|encryption)[ _-]?key)(?:[_-]key)?[`"\']?\\s{0,3}(?:[:=：]{1,2}|is|ist|est|es|é|是|は|=>)\\s{0,3}'
const SECRET = new RegExp(
  [
    `(?<field>${FIELD}[\`"']?)(?<value>[^\\s\`"',;(){}\\[\\]<>$]{4,200})`,
    '(?<user>\\b[a-z][\\w+.-]{1,20}://[^\\s/:@]{0,100}:)[^\\s/@]{1,200}(?=@)',
    '(?<scheme>\\b(?:Bearer|Basic) )(?=\\S{0,60}\\d)[\\w.~+/-]{16,2000}={0,2}',
    '-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*',
    '\\$2[aby]\\$\\d\\d\\$[\\w./]{20,80}',
    '(?<![\\p{L}\\d-])(?:(?:[srp]k[-_]|(?:gh[opsur]|github_pat|whsec|hf|npm|dop_v1|shpat)_|(?:glpat|xox[a-z]|pypi)-|SG\\.)(?=[\\w.-]{0,60}\\d)[\\w.-]{16,2000}|(?:AKIA|ASIA)[A-Z\\d]{12,}|AIza[\\w-]{20,}|eyJ[\\w-]{10,2000}(?:\\.[\\w-]{1,2000}){0,2})',
    '(?<![\\w+./-])(?<word>[A-Za-z\\d+]{24,2000}={0,2})(?![\\w/-]|\\.\\w)',
  ].join('|'),
  'giu',
)

/** A line with `[…]` in place of what looks like a credential: the value of its field, a known form, or a long random word. */
export function withoutSecrets(line: string): string {
  return line.replaceAll(SECRET, (found, ...rest) => {
    const { field, value, user, scheme, word } = rest.at(-1) as Record<string, string | undefined>
    if (field !== undefined) return isSecret(value!, /pass|pwd/i.test(field)) ? `${field}[…]` : found
    return word === undefined || isRandom(word) ? `${user ?? scheme ?? ''}[…]` : found
  })
}

/** Whether a value is no word and no variable of a program. A password may be a number. */
function isSecret(value: string, isPassword: boolean): boolean {
  return /\d/.test(value) && (isPassword || /\p{L}/u.test(value)) && !/^[\w$]{1,60}\.\p{L}/u.test(value)
}

/** Whether a word has small and capital letters and digits everywhere. The name of a function has few digits together. */
function isRandom(word: string): boolean {
  return /[a-z]/.test(word) && /[A-Z]/.test(word) && (word.match(/\d{1,9}/g)?.length ?? 0) > 2
}
