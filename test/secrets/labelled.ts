import { randomFrom } from '../support/random.ts'

/*
 * 300 labelled synthetic secrets, each in a text as it occurs in conversations with an agent. The forms are those that the providers
 * document (prefix, alphabet, length); the values are random. Written before the rules of src/core/secrets, and independent of them.
 */

/** A text with a secret in it. `secret` is the part that must not remain. */
export type Labelled = {
  readonly kind: string
  readonly text: string
  readonly secret: string
  readonly field?: string
}

const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const ALNUM = LOWER + UPPER + DIGITS
const URL_SAFE = `${ALNUM}-_`
const BASE64 = `${ALNUM}+/`

class Maker {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  of(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[Math.floor(this.#random() * alphabet.length)]).join('')
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!
  }

  /** A password as people and generators make them: letters, digits, often a sign. */
  password(): string {
    const word = this.pick(['Winter', 'hunter', 'Falcon', 'kestrel', 'Praha', 'S0nnen', 'qwerty', 'Delta'])
    return this.pick([
      `${word}${this.of(DIGITS, 4)}${this.pick(['!', '#', '$', '%', '?', '*'])}`,
      `${this.of(ALNUM, 11)}${this.of(DIGITS, 1)}`,
      `${word}-${this.of(LOWER, 5)}-${this.of(DIGITS, 3)}`,
      `${this.of(ALNUM, 6)}!${this.of(ALNUM, 5)}${this.of(DIGITS, 2)}`,
    ])
  }

  json(value: object): string {
    return Buffer.from(JSON.stringify(value)).toString('base64url')
  }

  pem(label: string, lines: number, eol = '\n'): string {
    const body = [...Array.from({ length: lines - 1 }, () => this.of(BASE64, 64)), `${this.of(BASE64, 42)}==`]
    return [`-----BEGIN ${label}-----`, ...body, `-----END ${label}-----`].join(eol)
  }
}

type Make = (make: Maker) => string

/** Tokens that are recognized by their form, wherever they stand; `name`: the variable that usually holds them. */
const TOKENS: readonly (readonly [kind: string, name: string, make: Make])[] = [
  ['aws access key id', 'AWS_ACCESS_KEY_ID', (m) => `AKIA${m.of(`${UPPER}234567`, 16)}`],
  ['aws temporary key id', 'AWS_ACCESS_KEY_ID', (m) => `ASIA${m.of(`${UPPER}234567`, 16)}`],
  ['google api key', 'GOOGLE_MAPS_KEY', (m) => `AIza${m.of(URL_SAFE, 35)}`],
  ['google oauth secret', 'GOOGLE_CLIENT_SECRET', (m) => `GOCSPX-${m.of(URL_SAFE, 28)}`],
  ['google access token', 'GCP_TOKEN', (m) => `ya29.a0${m.of(URL_SAFE, 120)}`],
  ['azure ad secret', 'AZURE_CLIENT_SECRET', (m) => `${m.of(ALNUM, 3)}8Q~${m.of(ALNUM, 34)}`],
  ['github token', 'GITHUB_TOKEN', (m) => `ghp_${m.of(ALNUM, 36)}`],
  ['github oauth token', 'GH_TOKEN', (m) => `gho_${m.of(ALNUM, 36)}`],
  ['github app token', 'GITHUB_TOKEN', (m) => `ghs_${m.of(ALNUM, 36)}`],
  ['github fine-grained token', 'GITHUB_PAT', (m) => `github_pat_${m.of(ALNUM, 22)}_${m.of(ALNUM, 59)}`],
  ['gitlab token', 'GITLAB_TOKEN', (m) => `glpat-${m.of(URL_SAFE, 20)}`],
  [
    'slack bot token',
    'SLACK_BOT_TOKEN',
    (m) => `xoxb-${m.of(DIGITS, 12)}-${m.of(DIGITS, 13)}-${m.of(ALNUM, 24)}`,
  ],
  [
    'slack user token',
    'SLACK_TOKEN',
    (m) => `xoxp-${m.of(DIGITS, 12)}-${m.of(DIGITS, 12)}-${m.of(DIGITS, 13)}-${m.of(HEX, 32)}`,
  ],
  [
    'slack webhook',
    'SLACK_URL',
    (m) =>
      `https://hooks.slack.com/services/T${m.of(UPPER + DIGITS, 8)}/B${m.of(UPPER + DIGITS, 10)}/${m.of(ALNUM, 24)}`,
  ],
  ['stripe key', 'STRIPE_SECRET_KEY', (m) => `sk_live_${m.of(ALNUM, 24)}`],
  ['stripe restricted key', 'STRIPE_KEY', (m) => `rk_test_${m.of(ALNUM, 99)}`],
  ['stripe webhook secret', 'STRIPE_WEBHOOK', (m) => `whsec_${m.of(ALNUM, 32)}`],
  ['openai key', 'OPENAI_API_KEY', (m) => `sk-${m.of(ALNUM, 20)}T3BlbkFJ${m.of(ALNUM, 20)}`],
  [
    'openai project key',
    'OPENAI_API_KEY',
    (m) => `sk-proj-${m.of(URL_SAFE, 74)}T3BlbkFJ${m.of(URL_SAFE, 73)}A`,
  ],
  ['anthropic key', 'ANTHROPIC_API_KEY', (m) => `sk-ant-api03-${m.of(URL_SAFE, 93)}AA`],
  ['anthropic oauth token', 'CLAUDE_CODE_OAUTH_TOKEN', (m) => `sk-ant-oat01-${m.of(URL_SAFE, 93)}AA`],
  ['openrouter key', 'OPENROUTER_API_KEY', (m) => `sk-or-v1-${m.of(HEX, 64)}`],
  ['deepseek key', 'DEEPSEEK_API_KEY', (m) => `sk-${m.of(HEX, 32)}`],
  ['groq key', 'GROQ_API_KEY', (m) => `gsk_${m.of(ALNUM, 52)}`],
  ['xai key', 'XAI_API_KEY', (m) => `xai-${m.of(ALNUM, 80)}`],
  ['replicate token', 'REPLICATE_API_TOKEN', (m) => `r8_${m.of(ALNUM, 37)}`],
  ['huggingface token', 'HF_TOKEN', (m) => `hf_${m.of(LOWER + UPPER, 34)}`],
  ['npm token', 'NPM_TOKEN', (m) => `npm_${m.of(ALNUM, 36)}`],
  ['pypi token', 'TWINE_PASSWORD', (m) => `pypi-AgEIcHlwaS5vcmc${m.of(URL_SAFE, 150)}`],
  [
    'jwt',
    'TOKEN',
    (m) =>
      `${m.json({ alg: 'HS256', typ: 'JWT' })}.${m.json({ sub: m.of(DIGITS, 10), iat: 1_700_000_000 })}.${m.of(URL_SAFE, 43)}`,
  ],
  ['sendgrid key', 'SENDGRID_API_KEY', (m) => `SG.${m.of(URL_SAFE, 22)}.${m.of(URL_SAFE, 43)}`],
  ['twilio key', 'TWILIO_API_KEY', (m) => `SK${m.of(HEX, 32)}`],
  ['mailgun key', 'MAILGUN_KEY', (m) => `key-${m.of(HEX, 32)}`],
  ['telegram bot token', 'BOT', (m) => `${m.of('123456789', 10)}:AA${m.of(URL_SAFE, 33)}`],
  ['discord bot token', 'BOT', (m) => `M${m.of(ALNUM, 23)}.${m.of(URL_SAFE, 6)}.${m.of(URL_SAFE, 38)}`],
  [
    'discord webhook',
    'HOOK',
    (m) => `https://discord.com/api/webhooks/${m.of(DIGITS, 18)}/${m.of(URL_SAFE, 68)}`,
  ],
  ['digitalocean token', 'DO_TOKEN', (m) => `dop_v1_${m.of(HEX, 64)}`],
  ['heroku token', 'HEROKU_API_KEY', (m) => `HRKU-AA${m.of(URL_SAFE, 58)}`],
  ['shopify token', 'SHOPIFY_TOKEN', (m) => `shpat_${m.of(HEX, 32)}`],
  ['doppler token', 'DOPPLER_TOKEN', (m) => `dp.pt.${m.of(ALNUM, 43)}`],
  ['linear key', 'LINEAR_API_KEY', (m) => `lin_api_${m.of(ALNUM, 40)}`],
  ['notion token', 'NOTION_TOKEN', (m) => `ntn_${m.of(DIGITS, 11)}${m.of(ALNUM, 35)}`],
  ['figma token', 'FIGMA_TOKEN', (m) => `figd_${m.of(URL_SAFE, 40)}`],
  ['docker token', 'DOCKER_TOKEN', (m) => `dckr_pat_${m.of(URL_SAFE, 27)}`],
  ['supabase token', 'SUPABASE_ACCESS_TOKEN', (m) => `sbp_${m.of(HEX, 40)}`],
  ['databricks token', 'DATABRICKS_TOKEN', (m) => `dapi${m.of(HEX, 32)}`],
  ['vault token', 'VAULT_TOKEN', (m) => `hvs.${m.of(URL_SAFE, 95)}`],
  ['grafana token', 'GRAFANA_TOKEN', (m) => `glsa_${m.of(ALNUM, 32)}_${m.of(HEX, 8)}`],
  ['planetscale password', 'PS', (m) => `pscale_pw_${m.of(URL_SAFE, 43)}`],
  ['new relic key', 'NEW_RELIC_KEY', (m) => `NRAK-${m.of(UPPER + DIGITS, 27)}`],
  ['atlassian token', 'JIRA_TOKEN', (m) => `ATATT3${m.of(URL_SAFE, 186)}`],
  ['rubygems key', 'GEM_KEY', (m) => `rubygems_${m.of(HEX, 48)}`],
  ['age key', 'AGE', (m) => `AGE-SECRET-KEY-1${m.of('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`],
]

/** Values without a form of their own: only the name of their field tells. */
const VALUES: readonly (readonly [kind: string, names: readonly string[], make: Make])[] = [
  [
    'aws secret key',
    ['AWS_SECRET_ACCESS_KEY', 'aws_secret_access_key', 'secretAccessKey'],
    (m) => m.of(BASE64, 40),
  ],
  ['twilio auth token', ['TWILIO_AUTH_TOKEN', 'authToken', 'auth_token'], (m) => m.of(HEX, 32)],
  ['datadog key', ['DD_API_KEY', 'DATADOG_API_KEY', 'api_key'], (m) => m.of(HEX, 32)],
  [
    'password',
    ['DB_PASSWORD', 'password', 'POSTGRES_PASSWORD', 'dbPassword', 'admin_pwd'],
    (m) => m.password(),
  ],
  ['client secret', ['CLIENT_SECRET', 'client_secret', 'clientSecret'], (m) => m.of(URL_SAFE, 40)],
  ['session secret', ['SESSION_SECRET', 'JWT_SECRET', 'secretKey', 'SECRET_KEY'], (m) => m.of(BASE64, 43)],
  ['api key', ['API_KEY', 'apiKey', 'X_API_KEY', 'SERVICE_API_KEY'], (m) => m.of(ALNUM, 32)],
  ['encryption key', ['ENCRYPTION_KEY', 'encryptionKey', 'MASTER_KEY'], (m) => m.of(HEX, 64)],
]

type Context = (
  name: string,
  secret: string,
  make: Maker,
) => string | { readonly text: string; readonly field: string }

/** Where a secret with the name of a variable stands. */
const NAMED: readonly Context[] = [
  (name, secret) => `# local settings\nPORT=3000\n${name}=${secret}\nDEBUG=true\n`,
  (name, secret) => `PORT=3000\r\n${name}="${secret}"\r\nDEBUG=true\r\n`,
  (name, secret) => `export ${name}='${secret}'`,
  (name, secret) => `const config = {\n  region: 'eu-west-1',\n  ${name}: '${secret}',\n}`,
  (name, secret) => `import os\n${name} = "${secret}"\nclient = Client(${name})`,
  (name, secret) => JSON.stringify({ host: 'db.internal', [name]: secret, retries: 3 }, null, 2),
  (name, secret) => JSON.stringify({ arguments: JSON.stringify({ [name]: secret, path: '/srv/app' }) }),
  (name, secret) => `services:\n  web:\n    environment:\n      ${name}: ${secret}\n      TZ: UTC`,
  (name, secret) => `2026-03-01T10:00:00Z INFO loaded env ${name}=${secret} (from .env)`,
  (name, secret) => `docker run -e ${name}=${secret} -p 80:80 app`,
  (name, secret) => ({ text: secret, field: name }),
  (name, secret) => `Here is the ${name}: \`${secret}\` — please put it into the settings.`,
]

/** Where a token stands that is recognized by its form. */
const BARE: readonly Context[] = [
  (_, secret) => `curl -s -H "Authorization: Bearer ${secret}" https://api.example.com/v1/me`,
  (_, secret) => `I rotated it, the new one is ${secret}, can you try again?`,
  (_, secret) => `[1/3] connect … ok\n[2/3] using (${secret})\n[3/3] failed: 401`,
  (_, secret) => `https://api.example.com/data?access_token=${encodeURIComponent(secret)}&limit=10`,
  (_, secret) => `redirect_uri%3Dx%26token%3D${encodeURIComponent(secret)}%26state%3D1`,
  (_, secret) => `<key>${secret}</key>`,
  (_, secret) => ({ text: secret, field: 'value' }),
  (_, secret) => `["${secret}","second"]`,
  (_, secret) => `line one\\n${secret}\\nline three`,
]

/** Secrets with a context of their own. */
const OTHERS: readonly (readonly [
  kind: string,
  make: (m: Maker) => readonly [text: string, secret: string, field?: string],
])[] = [
  [
    'database url',
    (m) => {
      const s = m.password().replaceAll(/[#%?$!*]/g, 'x')
      return [`DATABASE_URL=postgres://app:${s}@db.internal:5432/main`, s]
    },
  ],
  [
    'database url',
    (m) => {
      const s = m.of(ALNUM, 16)
      return [`mongodb+srv://root:${s}@cluster0.ab1cd.mongodb.net/test?retryWrites=true`, s]
    },
  ],
  [
    'redis url',
    (m) => {
      const s = m.of(ALNUM, 24)
      return [`const client = createClient({ url: 'redis://:${s}@cache:6379' })`, s]
    },
  ],
  [
    'git url',
    (m) => {
      const s = `ghp_${m.of(ALNUM, 36)}`
      return [`git clone https://${s}@github.com/acme/app.git`, s]
    },
  ],
  [
    'git url',
    (m) => {
      const s = m.of(ALNUM, 20)
      return [`remote: origin https://ci:${s}@git.example.com/app.git (push)`, s]
    },
  ],
  [
    'basic auth',
    (m) => {
      const s = Buffer.from(`admin:${m.password()}`).toString('base64')
      return [`GET /admin HTTP/1.1\r\nHost: example.com\r\nAuthorization: Basic ${s}\r\n\r\n`, s]
    },
  ],
  [
    'basic auth',
    (m) => {
      const s = m.password()
      return [`curl -u admin:${s} https://example.com/api`, s]
    },
  ],
  [
    'basic auth',
    (m) => {
      const s = m.password().replaceAll("'", '')
      return [`curl --user 'deploy:${s}' https://example.com/api`, s]
    },
  ],
  [
    'bearer token',
    (m) => {
      const s = m.of(URL_SAFE, 40)
      return [`headers: { 'Authorization': 'Bearer ${s}' }`, s]
    },
  ],
  [
    'bearer token',
    (m) => {
      const s = m.of(HEX, 40)
      return [`authorization: token ${s}`, s]
    },
  ],
  [
    'header',
    (m) => {
      const s = m.of(ALNUM, 32)
      return [`curl -H 'X-Api-Key: ${s}' https://api.example.com`, s]
    },
  ],
  [
    'private key',
    (m) => {
      const s = m.pem('RSA PRIVATE KEY', 25)
      return [`cat id_rsa\n${s}\n`, s]
    },
  ],
  [
    'private key',
    (m) => {
      const s = m.pem('OPENSSH PRIVATE KEY', 7, '\r\n')
      return [`${s}\r\n`, s]
    },
  ],
  [
    'private key',
    (m) => {
      const s = m.pem('PRIVATE KEY', 26)
      return [JSON.stringify({ type: 'service_account', private_key: `${s}\n` }), s.replaceAll('\n', '\\n')]
    },
  ],
  [
    'private key',
    (m) => {
      const s = m.pem('EC PRIVATE KEY', 3)
      return [`-----\n    ${s.replaceAll('\n', '\n    ')}`, s.split('\n')[1]!]
    },
  ],
  [
    'private key cut',
    (m) => {
      const s = m.pem('PRIVATE KEY', 20).split('\n').slice(0, 8).join('\n')
      return [`${s}\n[… 12 lines]`, s.split('\n').slice(1).join('\n')]
    },
  ],
  [
    'azure storage',
    (m) => {
      const s = `${m.of(BASE64, 86)}==`
      return [
        `DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${s};EndpointSuffix=core.windows.net`,
        s,
      ]
    },
  ],
  [
    'azure service bus',
    (m) => {
      const s = `${m.of(BASE64, 43)}=`
      return [`Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${s}`, s]
    },
  ],
  [
    'azure sas',
    (m) => {
      const s = encodeURIComponent(`${m.of(BASE64, 43)}=`)
      return [`https://acme.blob.core.windows.net/c/f?sv=2022-11-02&se=2026-01-01&sr=b&sp=r&sig=${s}`, s]
    },
  ],
  [
    'npmrc',
    (m) => {
      const s = m.of(HEX, 36)
      return [`//registry.example.com/:_authToken=${s}`, s]
    },
  ],
  [
    'netrc',
    (m) => {
      const s = m.password()
      return [`machine example.com\n  login bot\n  password ${s}\n`, s]
    },
  ],
  [
    'kubernetes secret',
    (m) => {
      const s = Buffer.from(m.of(ALNUM, 18)).toString('base64')
      return [`kind: Secret\ndata:\n  password: ${s}`, s]
    },
  ],
  [
    'command line',
    (m) => {
      const s = m.password().replaceAll(/[#?*$!]/g, '7')
      return [`mysql --user=root --password=${s} main`, s]
    },
  ],
  [
    'command line',
    (m) => {
      const s = m.of(ALNUM, 30)
      return [`cargo login --token ${s}`, s]
    },
  ],
  [
    'xml',
    (m) => {
      const s = m.password().replaceAll(/[&<]/g, '7')
      return [`<server><username>ci</username><password>${s}</password></server>`, s]
    },
  ],
  [
    'sql',
    (m) => {
      const s = m.password().replaceAll("'", '')
      return [`CREATE USER app WITH PASSWORD '${s}';`, s]
    },
  ],
  [
    'chat',
    (m) => {
      const s = m.password()
      return [`my password is ${s} and the user is admin`, s]
    },
  ],
  [
    'aws pair',
    (m) => {
      const s = m.of(BASE64, 40)
      return [`AKIA${m.of(`${UPPER}234567`, 16)},${s}`, s]
    },
  ],
  [
    'cookie',
    (m) => {
      const s = m.of(HEX, 32)
      return [`Cookie: theme=dark; session_token=${s}; lang=en`, s]
    },
  ],
  [
    'escaped json',
    (m) => {
      const s = m.of(ALNUM, 32)
      return [`"{\\"api_key\\": \\"${s}\\", \\"n\\": 1}"`, s]
    },
  ],
]

/** The labelled secrets, always the same for a seed. */
export function labelledSecrets(count = 300, seed = 43): Labelled[] {
  const make = new Maker(seed)
  const made: Labelled[] = []
  const add = (kind: string, secret: string, placed: ReturnType<Context>): void => {
    made.push(typeof placed === 'string' ? { kind, secret, text: placed } : { kind, secret, ...placed })
  }
  for (let at = 0; made.length < count; at++) {
    const [tokenKind, tokenName, makeToken] = TOKENS[at % TOKENS.length]!
    const token = makeToken(make)
    const context = at % 2 === 0 ? NAMED[(at >> 1) % NAMED.length]! : BARE[(at >> 1) % BARE.length]!
    const isEncoded = at % 2 === 1 && [3, 4].includes((at >> 1) % BARE.length)
    add(tokenKind, isEncoded ? encodeURIComponent(token) : token, context(tokenName, token, make))
    if (at % 3 === 0) {
      const [kind, names, makeValue] = VALUES[(at / 3) % VALUES.length]!
      const value = makeValue(make)
      const placed = NAMED[(at / 3 + at) % NAMED.length]!(make.pick(names), value, make)
      add(kind, value, placed)
    }
    if (at % 2 === 0) {
      const [kind, makeOther] = OTHERS[(at / 2) % OTHERS.length]!
      const [text, secret, field] = makeOther(make)
      made.push({ kind, text, secret, ...(field !== undefined && { field }) })
    }
  }
  return made.slice(0, count)
}
