import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Writes a session as Claude Code would, into a temporary configuration folder that goes with the process, and says whose it is. */
export function madeUpSession(): { readonly dir: string; readonly sessionId: string } {
  const home = mkdtempSync(join(tmpdir(), 'claude-'))
  const dir = realpathSync(home)
  process.on('exit', () => rmSync(home, { recursive: true, force: true }))
  process.env.CLAUDE_CONFIG_DIR = join(home, 'config')
  const sessionId = '0b5e6f1a-7c1d-4e57-9a44-1f0f2b6d3c11'
  const project = join(home, 'config', 'projects', dir.replaceAll(/[^a-zA-Z0-9]/g, '-'))
  mkdirSync(project, { recursive: true })

  const said: readonly (readonly [type: 'user' | 'assistant', content: unknown])[] = [
    ['user', 'What does a.txt say?'],
    ['assistant', [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: { file_path: 'a.txt' } }]],
    ['user', [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'marmalade' }]],
    ['assistant', [{ type: 'text', text: 'It says marmalade.' }]],
  ]
  const uuid = (at: number): string => `00000000-0000-4000-8000-00000000000${at}`
  const entries = said.map(([type, content], at) => ({
    type,
    uuid: uuid(at),
    parentUuid: at === 0 ? null : uuid(at - 1),
    sessionId,
    cwd: dir,
    isSidechain: false,
    timestamp: `2026-01-02T03:04:0${at}.000Z`,
    message: { role: type, content },
  }))
  const lines = [...entries, { type: 'custom-title', customTitle: 'The word in a.txt', sessionId }]
  writeFileSync(
    join(project, `${sessionId}.jsonl`),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  )
  return { dir, sessionId }
}
