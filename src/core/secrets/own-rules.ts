import type { SecretRule } from './rule.ts'
import { isRandom, isWritten } from './values.ts'

/*
 * Rules beside those of gitleaks: tokens that it doesn't know, credentials in URLs, headers and command lines, and private keys, which may
 * be cut or escaped. The forms are those that the providers document.
 */

/** A token may stand after an escape or a percent-encoded character, where there is no word boundary. */
const START = String.raw`(?:(?<![\w-])|(?<=%[\dA-F]{2}|\\[nrtu"]))`

function token(kind: string, keywords: readonly string[], form: string): SecretRule {
  return { kind, keywords, pattern: new RegExp(`${START}(${form})`, 'g'), isSecret: isRandom }
}

export const OWN_RULES: readonly SecretRule[] = [
  token('anthropic-api-key', ['sk-ant-'], String.raw`sk-ant-[a-z]{2,8}\d{2}-[\w-]{20,200}`),
  token('api-key', ['sk-'], String.raw`sk-(?:[a-z]{2,10}-(?:v\d-)?)?[\w-]{20,250}`),
  token('groq-api-key', ['gsk_'], '[g]sk_[A-Za-z0-9]{40,100}'),
  token('xai-api-key', ['xai-'], 'xai-[A-Za-z0-9]{50,120}'),
  token('replicate-api-token', ['r8_'], 'r8_[A-Za-z0-9]{30,60}'),
  token('huggingface-access-token', ['hf_'], 'hf_[A-Za-z0-9]{30,60}'),
  token('google-oauth-secret', ['gocspx-'], String.raw`GOCSPX-[\w-]{20,60}`),
  token('google-access-token', ['ya29.'], String.raw`ya29\.[\w-]{20,2000}`),
  token('google-refresh-token', ['1//0'], String.raw`1//0[\w-]{30,300}`),
  token('stripe-webhook-secret', ['whsec_'], 'whsec_[A-Za-z0-9+/=]{24,100}'),
  token('mailgun-private-api-token', ['key-'], 'key-[0-9a-f]{32}'),
  token('mailchimp-api-key', ['-us'], String.raw`[0-9a-f]{32}-us\d{1,2}`),
  token('telegram-bot-api-token', [':aa'], String.raw`\d{8,10}:AA[\w-]{33}(?![\w-])`),
  token('discord-bot-token', ['.'], String.raw`[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])`),
  token('figma-token', ['figd_'], String.raw`figd_[\w-]{30,60}`),
  token('docker-token', ['dckr_'], String.raw`dckr_[po]at_[\w-]{20,60}`),
  token('supabase-token', ['sbp_'], 'sbp_[0-9a-f]{40}'),
  token('supabase-secret-key', ['sb_secret_'], String.raw`sb_secret_[\w-]{20,60}`),
  token('netlify-access-token', ['nfp_'], 'nfp_[A-Za-z0-9]{30,60}'),
  token('new-relic-user-api-key', ['nrak-'], 'NRAK-[A-Z0-9]{27}'),
  token('atlassian-api-token', ['atatt3', 'atctt3'], String.raw`AT[AC]TT3[\w=-]{100,250}`),
  token('bitbucket-app-password', ['atbb'], 'ATBB[A-Za-z0-9]{28,40}'),
  token('github-token', ['ghs_', 'ghu_'], String.raw`gh[su]_[\w.-]{36,600}`),
  {
    kind: 'discord-webhook',
    keywords: ['/api/webhooks/'],
    pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/([\w-]{60,90})/gi,
  },
  {
    kind: 'aws-secret-key',
    keywords: ['akia', 'asia'],
    pattern:
      /A[KS]IA[A-Z2-7]{16}[^\w/+=]{1,8}(?:[\w ]{0,30}[=:]\s?["']?)?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/g,
    isSecret: isRandom,
  },
  {
    kind: 'password-hash',
    keywords: ['$2'],
    pattern: /\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}/g,
  },
  { kind: 'azure-storage-key', keywords: ['accountkey'], pattern: /AccountKey=([A-Za-z0-9+/]{86}==)/gi },
  {
    kind: 'azure-access-key',
    keywords: ['accesskey'],
    pattern: /SharedAccessKey=([A-Za-z0-9+/]{40,90}={0,2})/gi,
  },
  {
    kind: 'signed-url',
    keywords: ['sig=', 'signature='],
    pattern: /[?&;](?:sig=([A-Za-z0-9%+/]{40,80}(?:=|%3D))|x-(?:amz|goog)-signature=([\da-f]{32,600}))/gi,
    isSecret: (secret) => isRandom(secret.replaceAll(/%[\dA-F]{2}/gi, '+')),
  },
  {
    kind: 'url-password',
    keywords: ['://'],
    pattern:
      /(?<=[a-z][a-z\d+.-]{1,20}):\/\/[^\s/:@"'`<>()[\]{}|\\]{0,100}:([^\s/@"'`<>\\]{3,200})@(?=[\w.[-])/gi,
    isSecret: isPasswordOfUrl,
  },
  {
    kind: 'url-password',
    keywords: ['%3a%2f%2f'],
    pattern: /%3A%2F%2F[^\s%]{0,100}%3A([^\s"'`<>@]{3,200}?)%40/gi,
    isSecret: isPasswordOfUrl,
  },
  {
    kind: 'basic-auth',
    keywords: ['basic '],
    pattern: /\bBasic\s{1,3}([A-Za-z0-9+/]{8,1000}={0,2})(?![\w+/=])/gi,
    isSecret: (secret) =>
      /^[\x20-\x7e\u0080-\u{10ffff}]{1,64}:[\x21-\x7e\u0080-\ufffc]{3}/u.test(
        Buffer.from(secret, 'base64').toString(),
      ),
  },
  {
    kind: 'bearer-token',
    keywords: ['bearer', 'authorization'],
    pattern:
      /(?:\bBearer|\bauthorization["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3}(?:token|apikey|key)?)[\s:+]{1,3}([\w.~+/-]{16,4000}={0,2})/gi,
    isSecret: isRandom,
  },
  {
    kind: 'basic-auth',
    keywords: ['curl', 'wget'],
    pattern:
      /\b(?:curl|wget)\b[^\n|;]{0,400}?\s(?:-u|--user|--proxy-user)[ =]{1,3}["']?[^\s:"'$<{]{1,64}:([^\s"'`<>{}]{4,200})/g,
    isSecret: (secret) => isWritten(secret),
  },
]

/** Words that examples have in place of a password. */
const EXAMPLE =
  /^(?:pass(?:word|wd)?\d{0,3}|pwd|pw|secret|user|username|token|postgres|root|admin|example|test|x+|\*+|\.+)$/i

function isPasswordOfUrl(secret: string): boolean {
  return isWritten(secret) && !EXAMPLE.test(secret) && !/^\d{1,5}(?:$|[/?])/.test(secret)
}

const BEGIN = /-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----/g
/** A line of a key, with what code, JSON, quotations and numbers of lines put before it. */
const KEY_LINE =
  /(?:\s|\\[nrt]|["'`+,>|#*\\]){0,40}(?:\d{1,4}[:|\t→ ]{1,3}\s{0,4})?(?:(?:Proc-Type|DEK-Info|Version|Comment)[^\n\\]{0,200}|[A-Za-z0-9+/=]{16,})/y
const KEY_END =
  /(?:\s|\\[nrt]|["'`+,>|#*\\]){0,40}(?:\d{1,4}[:|\t→ ]{1,3}\s{0,4})?[A-Za-z0-9+/=]{0,80}(?:\s|\\[nrt]|["'`+,>|#*\\]){0,40}(?:\d{1,4}[:|\t→ ]{1,3}\s{0,4})?-----END[ A-Z0-9_-]{0,100}-----/y

/** Returns the ranges of private keys, also of those whose end is missing. */
export function privateKeys(text: string): (readonly [start: number, end: number])[] {
  const found: (readonly [number, number])[] = []
  BEGIN.lastIndex = 0
  for (let match = BEGIN.exec(text); match !== null; match = BEGIN.exec(text)) {
    let end = BEGIN.lastIndex
    for (let line = endOf(KEY_LINE, text, end); line !== undefined; line = endOf(KEY_LINE, text, end))
      end = line
    const last = endOf(KEY_END, text, end) ?? end
    if (last > BEGIN.lastIndex) found.push([match.index, last])
    BEGIN.lastIndex = last
  }
  return found
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}
