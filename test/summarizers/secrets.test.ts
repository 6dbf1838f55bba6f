import { expect, it } from 'vitest'
import { withoutSecrets } from '../../src/core/summarizers/secrets.ts'
import { assistant, call, did, failure, summarize, user } from './support.ts'

it.each([
  ['The password is hunter2, use it.', 'The password is […], use it.'],
  ['DB_PASSWORD=Tr0ub4dor&3 npm start', 'DB_PASSWORD=[…] npm start'],
  ['PIN and password: 123456', 'PIN and password: […]'],
  ['api_key = "a1b2c3d4e5f6"', 'api_key = "[…]"'],
  ['user_id: u1, token: 9f8e7d6c5b4a', 'user_id: u1, token: […]'],
  ['Das Passwort ist geheim42', 'Das Passwort ist […]'],
  ['密码是 abc12345', '密码是 […]'],
  ['Authorization: Bearer abcdef1234567890abcdef', 'Authorization: Bearer […]'],
  ['postgres://app:pw@db:5432/x', 'postgres://app:[…]@db:5432/x'],
  ['use ghp_abcdefghij0123456789abcdefghij please', 'use […] please'],
  ['It is A1b2C3d4E5f6G7h8I9j0K1l2M3n4.', 'It is […].'],
])('replaces a credential: %s', (line, expected) => {
  expect(withoutSecrets(line)).toBe(expected)
})

it.each([
  'Never log the password.',
  'token: string',
  'password: req.body.password1',
  'max_token = 4096',
  'useInvoiceLineItemsV2QueryHook',
  'src/fixtures/LongPath1/Of2/Things3/AndMore4',
  'dist/A1b2C3d4E5f6G7h8I9j0K1l2M3n4.js',
  '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12',
  '550e8400-e29b-41d4-a716-446655440000',
  'reservation_id: H9ZU1C, payment_id: gift_card_8887175',
])('leaves names and code as they are: %s', (line) => {
  expect(withoutSecrets(line)).toBe(line)
})

it('no line of a summary repeats a credential: requests, rules, errors, records, statements', () => {
  const secret = 'ghp_abcdefghij0123456789abcdefghij'
  const text = summarize([
    user(`Clone the repository with ${secret}. Never print ${secret} to the log.`),
    assistant('', call('c', 'bash', { command: 'git clone' })),
    failure('c', `fatal: bad token ${secret} was refused`),
    ...did('d', 'get_account', { id: 'A-1' }, JSON.stringify({ account_id: 'A-1', key: secret })),
    assistant(`The clone works with ${secret} now. `.repeat(40)),
  ])
  expect(text).toContain('Never print […] to the log.')
  expect(text).not.toContain(secret)
})
