/*
 * Appends entries to a transcript, one at a time, and lists in between, as one of several processes.
 *
 *   node append-in-process.js <store file> <name of the process> <entries>
 */
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore } from '../../src/index.ts'

const [file = '', name = '', count = '0'] = process.argv.slice(2)
const store = await openStore(file)
const transcripts = undertextSessionStore({ store })
for (let at = 0; at < Number(count); at++) {
  // One that all processes bring, and one that only this one does.
  await transcripts.append({ projectKey: 'project', sessionId: 'one' }, [
    { type: 'x', uuid: `shared-${at}`, by: name },
    { type: 'tag', tag: `${name}-${at}`, uuid: `${name}-${at}` },
  ])
  if (at % 5 === 0) await transcripts.listSessionSummaries('project')
}
await store.close()
