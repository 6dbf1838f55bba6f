import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { say } from '../support/conversation.ts'
import { newFile, newFolder } from '../support/temporary.ts'
import { bridge } from './bridge.ts'

/*
 * The published conformance package. It speaks HTTP only, so a bridge passes its messages to the process, and most of its scenarios call
 * fixtures of a test server (a tool `test_simple_text` and the like): these are the ones that any server with tools and resources meets.
 * Its newest version needs Node 22.
 */

const run = promisify(execFile)
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'resources-list']
const VERSION = Number(process.versions.node.split('.')[0]) >= 22 ? '0.1.16' : '0.1.13'

it(`meets the scenarios of @modelcontextprotocol/conformance ${VERSION}`, async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  await run('npm', ['install', '--no-audit', '--no-fund', `@modelcontextprotocol/conformance@${VERSION}`], {
    cwd: folder,
  })
  const db = newFile()
  const store = await openStore(db, { env: false })
  await store.append('talk', [say('user', 'Does the kettle work?')])
  await store.close()
  const bundled = await bundleCli()
  const http = await bridge(process.execPath, [bundled.script, 'mcp', '--db', db])
  const script = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  for (const scenario of SCENARIOS) {
    const { stdout } = await run(process.execPath, [
      script,
      'server',
      '--url',
      http.url,
      '--scenario',
      scenario,
    ])
    expect(stdout).toMatch(/Passed: (\d+)\/\1, 0 failed/)
  }
  await http.close()
  bundled.remove()
}, 300_000)
