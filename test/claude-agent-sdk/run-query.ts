/*
 * One turn of the real Claude Code, in a process of its own: what is kept in the store is all that it starts from.
 *
 *   node run-query.js <store file> <url of the model> <home> <working folder> <prompt> [session id to resume]
 *
 * Prints one line: the session's id and the result.
 */
import { query } from '@anthropic-ai/claude-agent-sdk'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore } from '../../src/index.ts'

const [file = '', url = '', home = '', cwd = '', prompt = '', resume] = process.argv.slice(2)
const store = await openStore(file)
const { PATH = '', TMPDIR = '' } = process.env
const conversation = query({
  prompt,
  options: {
    cwd,
    sessionStore: undertextSessionStore({ store }),
    ...(resume !== undefined && { resume }),
    model: 'claude-sonnet-4-5',
    allowedTools: ['Read'],
    settingSources: [],
    maxTurns: 4,
    // Nothing of this process's own settings, and nobody else to talk to than the model.
    env: {
      PATH,
      TMPDIR,
      HOME: home,
      CLAUDE_CONFIG_DIR: `${home}/config`,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  },
})
let said = {}
for await (const message of conversation)
  if (message.type === 'result')
    said = {
      sessionId: message.session_id,
      result: message.subtype === 'success' ? message.result : message.subtype,
    }
process.stdout.write(`${JSON.stringify(said)}\n`)
await store.close()
