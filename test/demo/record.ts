/* Stores a conversation in a folder: `record.ts FOLDER [FILE]`. Started by main.ts. */
import { UNUSABLE } from './exit-codes.ts'
import { recordAgent } from './record-agent.ts'
import { recordTranscript } from './record-transcript.ts'
import { complain, outcome } from './screen.ts'
import { UnusableFile } from './transcript.ts'

const [folder = '.', file] = process.argv.slice(2)

try {
  await (file === undefined ? recordAgent(folder) : recordTranscript(folder, file))
  process.exitCode = outcome()
} catch (error) {
  if (!(error instanceof UnusableFile)) throw error
  complain(error.message)
  process.exitCode = UNUSABLE
}
