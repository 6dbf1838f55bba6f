import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import type { Json } from '../../src/core/messages/json.ts'
import { type Message, partsOf, type ToolResultOutput } from '../../src/core/messages/message.ts'
import { type Outcome, outcomeOf } from '../../src/core/messages/outcome.ts'
import { sharedPath } from '../support/shared.ts'

const text = (value: string): ToolResultOutput => ({ type: 'text', value })
const data = (value: Json): ToolResultOutput => ({ type: 'json', value })

const READ = { toolName: 'read_file', input: { path: 'a.ts' } }
const EDIT = { toolName: 'edit_file', input: { path: 'a.ts', old: 'a', new: 'b' } }
const SERVICE = { toolName: 'get_order', input: { order: 'A1' } }
const run = (command: string) => ({ toolName: 'bash', input: { command } })
const BUILD = run('npm run build')

type Case = readonly [outcome: Outcome, call: { toolName?: string; input?: Json }, result: string]

describe('the outcome of a call without an error flag', () => {
  const SAID: readonly Case[] = [
    // A person's answer, and what a client says of the tool that asks.
    ['ok', { toolName: 'AskUserQuestion' }, 'No, do not deploy it: never on a Friday.'],
    ['failed', { toolName: 'AskUserQuestion' }, 'AskUserQuestion is not available in this mode.'],
    // Exit codes.
    ['failed', BUILD, 'building\n\nCommand exited with code 2'],
    ['failed', BUILD, 'Exit code: 127\nWall time: 0.1 seconds\nOutput:\n'],
    ['failed', BUILD, 'done?\n[The command completed with exit code 1.]'],
    ['failed', BUILD, '<returncode>1</returncode>\n<output>\n</output>'],
    ['ok', BUILD, 'Exit code: 0\nOutput:\nerror: a warning printed by another program'],
    ['ok', BUILD, 'all built\n[Command finished with exit code 0]'],
    ['ok', run('ls'), 'Command: ls\nOutput: a.ts\nError: (none)\nExit Code: 0\nSignal: (none)'],
    // Wordings of programs.
    [
      'failed',
      run('make'),
      'cc -c a.c\na.c:3:1: error: expected expression\nmake: *** [Makefile:2: a.o] Error 1',
    ],
    ['failed', run('make'), 'make: *** Error 2'],
    ['failed', run('./run.sh'), 'bash: ./run.sh: Permission denied'],
    ['failed', run('frob'), '/bin/sh: 1: frob: not found'],
    ['failed', run('frob'), 'zsh: command not found: frob'],
    ['failed', run('cat x'), 'cat: x: No such file or directory'],
    [
      'failed',
      run('pytest'),
      'test_a.py .F\n=== FAILURES ===\nE   assert 1 == 2\n=== 1 failed, 9 passed in 0.12s ===',
    ],
    ['ok', run('pytest'), 'test_a.py ..........\n=== 10 passed in 0.12s ==='],
    [
      'ok',
      run('cargo test'),
      'test errors::fails_on_error ... ok\n\ntest result: ok. 12 passed; 0 failed; 0 ignored',
    ],
    [
      'failed',
      run('cargo build'),
      'error[E0308]: mismatched types\n --> src/main.rs:4:5\nerror: could not compile `a`',
    ],
    ['failed', run('npx tsc'), "src/a.ts(3,7): error TS2304: Cannot find name 'b'."],
    [
      'failed',
      run('python a.py'),
      'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: \'id\'',
    ],
    [
      'failed',
      run('go test ./...'),
      '--- FAIL: TestA (0.00s)\n    a_test.go:9: got 1, want 2\nFAIL\tgithub.com/x/a\t0.01s',
    ],
    ['failed', run('npm test'), 'npm ERR! Test failed.  See above for more details.'],
    ['failed', run('git push'), 'fatal: unable to access the remote: Could not resolve host: example.org'],
    [
      'failed',
      run('npm run lint'),
      '/a.js\n  1:1  error  Unexpected var\n\n✖ 1 problem (1 error, 0 warnings)',
    ],
    ['ok', run('npm run lint'), 'Checked 232 files in 119ms. No fixes applied.'],
    ['ok', run('echo hi'), 'hi'],
    // The end of the output is not shown.
    [
      'unknown',
      run('npm test 2>&1 | head -20'),
      Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n'),
    ],
    // Nothing was said.
    ['unknown', BUILD, ''],
    ['unknown', BUILD, '(no output)'],
    ['ok', run('true'), 'Your command ran successfully and did not produce any output.'],
    ['unknown', run('pytest'), 'collected 412 items\n\ntests/test_a.py ..........'],
    ['unknown', BUILD, '[Old tool result content cleared]'],
    ['unknown', run('terraform apply'), 'aws_instance.a: Still creating... [10s elapsed]'],
    // Clients stop calls of any kind.
    ['failed', run('git push'), 'Permission to use Bash with command git push has been denied.'],
    ['failed', run('sleep 99'), "The command 'sleep 99' was cancelled because it took more than 30 seconds."],
    ['failed', EDIT, 'File has been modified since read, either by the user or by a linter.'],
    ['failed', READ, 'File content (41213 tokens) exceeds maximum allowed tokens (25000).'],
    ['failed', SERVICE, '[Request interrupted by user for tool use]'],
    // Counts are those of failures, and a report includes what was printed before it.
    [
      'failed',
      run('npx playwright test'),
      '  ✘  1 logs in (30.1s)\n\n  1 failed\n  1 did not run\n  1 passed (33.0s)',
    ],
    ['ok', run('npx eslint src'), '/a.ts\n  3:7  warning  no-console\n\n✖ 1 problem (0 errors, 1 warning)'],
    [
      'ok',
      run('python -m unittest'),
      'test_todo ... expected failure\n\nRan 3 tests in 0.001s\n\nOK (expected failures=1)',
    ],
    [
      'ok',
      run('npx vitest run'),
      'Error: request failed\n    at send (/r/a.ts:14:11)\n\n Tests  6 passed (6)',
    ],
    ['ok', run('wc -l error.log'), '412 error.log'],
    // The name of a program begins its own error messages only.
    ['failed', run('sudo ls /root'), 'sudo: a terminal is required to read the password'],
    ['failed', run('curl -sf https://x.test'), 'curl: (22) The requested URL returned error: 404'],
    ['ok', run('file a.out'), 'a.out: ELF 64-bit LSB executable'],
    ['ok', run('docker logs web'), 'FATAL: password authentication failed for user "app"'],
    ['failed', run('g++ a.cc'), 'g++: error: unrecognized command-line option'],
    ['failed', run('gcc a.c'), "a.c: In function 'main':\na.c:1:20: error: 'x' undeclared\n 1 | int main()"],
    ['failed', run('node --test'), 'not ok 1 - adds\n# tests 2\n# pass 1\n# fail 1\n# skipped 0'],
    ['ok', run('node --test'), 'ok 1 - rejects errors\n# tests 1\n# pass 1\n# fail 0\n# skipped 0'],
    [
      'failed',
      run('npm run build'),
      '> app@1.0.0 build\n\n> Build error occurred\n[TypeError: f is not callable]\n\n',
    ],
    ['failed', run('sqlite3 a.db < a.sql'), 'Parse error near line 1: no such table: a'],
    ['failed', run('docker build .'), 'A notice about the builder.\n\nCannot connect to the Docker daemon.'],
    [
      'failed',
      run('perl a.pl'),
      'Global symbol "$x" requires a package\nExecution of a.pl aborted due to errors.',
    ],
    [
      'failed',
      run('wget http://a.test'),
      'Resolving a.test...\nConnecting to a.test|1.2.3.4|:80... failed: Refused.',
    ],
    ['ok', run('printf a'), 'error: 0\nwarnings: 3'],
    ['ok', run('git -C app log --oneline'), 'a1b2c3d Fix error: build failed'],
    // A shell begins nothing but its own messages with its name and a line.
    ['failed', run('bash a.sh'), 'a.sh: line 3: A: unbound variable'],
    ['failed', run('eval "if"'), 'bash: eval: line 2: syntax error: unexpected end of file'],
    ['failed', run('export 1x=2'), "bash: line 1: export: `1x=2': not a valid identifier"],
    ['failed', run('cat > a/b <<E'), '(eval):1: parse error near `a`'],
    // Editors.
    ['failed', EDIT, "Ran into [Errno 2] No such file or directory: 'a.ts' while trying to write"],
    ['failed', EDIT, "Agent requested permissions to write to a.ts, but you haven't granted it yet."],
    ['failed', EDIT, 'ERROR: No replacement was performed, old_str `a` did not appear verbatim in a.ts.'],
    ['failed', EDIT, 'No replacement was performed. Multiple occurrences of old_str in lines 3, 9.'],
    [
      'failed',
      EDIT,
      '<tool_use_error>String to replace not found in file.\nString: done = true</tool_use_error>',
    ],
    ['failed', EDIT, 'Could not find the exact text in a.ts. The old text must match exactly.'],
    ['failed', EDIT, 'File has not been read yet. Read it first before writing to it.'],
    ['failed', EDIT, '[Your proposed edit has introduced new syntax error(s).]\nE999 IndentationError'],
    ['failed', EDIT, 'apply_patch verification failed: Failed to find expected lines in a.ts'],
    ['failed', EDIT, "The user doesn't want to proceed with this tool use. The tool use was rejected."],
    ['ok', EDIT, 'The file a.ts has been updated successfully.'],
    [
      'ok',
      EDIT,
      "The file a.ts has been edited. Here's the result of running `cat -n` on a snippet:\n 1\tthrow new Error('not found')",
    ],
    ['ok', EDIT, 'Success. Updated the following files:\nM a.ts'],
    ['unknown', EDIT, 'a.ts'],
    // What was shown may mention errors.
    ['ok', READ, "function fail() {\n  throw new Error('not found')\n}\nerror: 3\n"],
    ['ok', READ, '     1→# Errors\n     2→Error: file not found means that the path is wrong.'],
    ['ok', run('grep -rn error src'), "src/a.ts:3: error: 'boom'\nsrc/b.ts:9: return failed"],
    [
      'ok',
      run('cd /app && git log --oneline -3'),
      'a1b2c3d Fix error: build failed\nd4e5f6a Permission denied on start',
    ],
    ['ok', run('cat build.log'), `${'step\n'.repeat(20)}make: *** [all] Error 2`],
    ['ok', READ, '#!/bin/sh\nif ! make; then\n  echo "exit code: 3"\n  exit 1\nfi\n'],
    ['ok', run('cat run.sh'), '#!/bin/sh\nmake || exit 1\n'],
    ['failed', run('grep -n a b.txt'), '(no output)\n\nCommand exited with code 1'],
    ['ok', { toolName: 'grep', input: { pattern: 'x' } }, 'No matches found'],
    ['failed', READ, "Error: ENOENT: no such file or directory, open 'a.ts'"],
    ['failed', READ, 'File does not exist.'],
    ['failed', READ, '<error>File not found: a.ts</error>'],
    ['failed', READ, 'File path must be within one of the workspace directories: /a'],
    ['failed', READ, '{"content": [{"type": "text", "text": "No such file"}], "isError": true}'],
    // Services.
    ['failed', SERVICE, 'Error: order not found'],
    ['failed', SERVICE, 'The request timed out.'],
    ['failed', SERVICE, 'Permission denied'],
    ['ok', SERVICE, 'Transfer successful'],
    ['failed', SERVICE, '{"error": "order not found"}'],
    ['ok', SERVICE, '{"error": null, "order": "A1"}'],
    ['ok', SERVICE, '{"order": "A1", "status": "cancelled"}'],
    ['failed', SERVICE, '{"status": "error", "message": "quota"}'],
    ['failed', SERVICE, '{"status": 404}'],
    ['failed', SERVICE, '{"success": false}'],
    ['failed', BUILD, '{"exit_code":1}'],
    ['failed', BUILD, '{"output":"","metadata":{"exit_code":2,"duration_seconds":0.1}}'],
    ['ok', BUILD, '{"stdout":"error: none","stderr":"","exitCode":0}'],
    ['failed', BUILD, '{"stdout":"","stderr":"make: *** Error 2"}'],
    ['ok', SERVICE, '[]'],
    ['ok', SERVICE, '{"order_id": "W2", "status": "failed", "payment": {"status": "declined"}}'],
    ['ok', SERVICE, '{"errors": {}, "name": "a"}'],
    ['failed', SERVICE, '{"errcode": 40001, "errmsg": "invalid credential"}'],
    ['failed', SERVICE, '{"status": 200, "body": {"success": false}}'],
    ['failed', SERVICE, '{"code": "UNAUTHENTICATED", "message": "log in first"}'],
    ['failed', SERVICE, "Input validation error: 'order' is a required property"],
    ['failed', SERVICE, 'success: false\nerror: no such order\nitems: []'],
    ['failed', SERVICE, 'Navigation failed net::ERR_ABORTED at https://a.test'],
    ['failed', SERVICE, '{"title": "Bad Request", "status": 400, "traceId": "a1"}'],
    ['failed', SERVICE, '{"results": [{"success": false, "error": "a"}, {"success": false, "error": "b"}]}'],
    ['ok', SERVICE, '{"results": [{"success": false, "error": "a"}, {"success": true}]}'],
    ['failed', SERVICE, '{"error": "", "response": "{\\"status\\": \\"401\\", \\"msg\\": \\"log in\\"}"}'],
    ['ok', SERVICE, '{"error": "", "response": "[{\\"id\\": 1}, {\\"id\\": 2}, {\\"na...'],
    ['failed', SERVICE, '{"content": [{"type": "text", "text": "Error: no such order"}], "isError": false}'],
    // Python prints data in its own form.
    ['failed', SERVICE, "{'success': False, 'message': \"it's gone\", 'data': None}"],
    ['ok', SERVICE, "{'success': True, 'error': None}"],
    ['failed', SERVICE, "[TextContent(type='text', text='Error: no\\nsuch order', annotations=None)]"],
    ['failed', SERVICE, "meta=None content=[TextContent(type='text', text='gone')] isError=True"],
    [
      'ok',
      SERVICE,
      "meta=None content=[TextContent(type='text', text='Order A1', annotations=None)] isError=False",
    ],
    // One tool calls others.
    [
      'ok',
      { toolName: 'use_mcp_tool', input: { tool_name: 'read_file', arguments: { path: 'a.md' } } },
      `# Errors\n${'Error: an example in a manual\n'.repeat(200)}`,
    ],
    ['failed', SERVICE, 'Die Bestellung konnte nicht storniert werden, da sie bereits versandt wurde.'],
    ['failed', SERVICE, '查询失败：订单不存在'],
    [
      'failed',
      { toolName: 'web_fetch', input: { url: 'https://a' } },
      'Just a moment...\n\nVerifying you are human.',
    ],
    [
      'failed',
      { toolName: 'web_fetch', input: { url: 'https://a' } },
      '# Untitled\n\nError: the reader returned status 451',
    ],
    [
      'failed',
      { toolName: 'fetch', input: { url: 'https://a' } },
      'Contents of https://a:\n<error>not a page</error>',
    ],
    [
      'failed',
      { toolName: 'search_notes', input: { query: 'a' } },
      `# Search Failed\n\n${'Try other words.\n'.repeat(60)}`,
    ],
    [
      'failed',
      { toolName: 'search_movies', input: { genre: 'a' } },
      '{"message": "genre must be an integer: a"}',
    ],
    [
      'ok',
      { toolName: 'web_search', input: { query: 'errors' } },
      'Results for "Error: 404":\n1. What a 404 error means',
    ],
  ]

  const ANY = { toolName: 'frob', input: { x: 1 } }

  it.each([
    // What a sentence says first counts.
    ['failed', ANY, 'Deployment blocked by change freeze until Monday.'],
    ['failed', ANY, 'Game not initialized'],
    ['failed', ANY, 'base_dir must be a string'],
    ['failed', ANY, 'Coordinates required for mouse_move'],
    ['failed', ANY, 'TOOL_EXECUTION_DENIED'],
    ['failed', ANY, '操作被用户拒绝'],
    ['failed', ANY, 'Não é possível buscar sem estes filtros'],
    ['ok', ANY, 'Moved WEB-1 to Rejected.'],
    ['ok', ANY, 'All 12 checks passed, none failed.'],
    ['ok', ANY, 'Ticket T1: "App crashes with fatal error", status: rejected'],
    ['ok', ANY, '1. Why do systems fail?\n2. Errors'],
    // The tool does what its name says.
    ['ok', { toolName: 'cancel_order', input: {} }, 'Order W1 was cancelled.'],
    ['failed', { toolName: 'cancel_order', input: {} }, 'Order W1 was not found.'],
    ['ok', { toolName: 'cancel_subscription', input: {} }, 'Subscription S1 cancelled; no further charges.'],
    [
      'failed',
      { toolName: 'exchange_delivered_items', input: {} },
      'Non-delivered order cannot be exchanged',
    ],
    // A list may be empty; one thing that is asked for may be missing.
    ['ok', { toolName: 'list_clusters', input: {} }, 'No clusters found.'],
    ['failed', { toolName: 'get_html', input: {} }, 'No element found for selector: #a'],
    ['failed', { toolName: 'delete_credentials', input: {} }, 'No credentials found for a'],
    // What follows "but" counts, and advice follows what was not done.
    ['failed', ANY, 'Value changed in memory but could not be saved to disk'],
    ['failed', ANY, 'The data looks like base64. Provide the raw file contents.'],
    ['failed', ANY, 'Either a toolkit or a database must be given'],
    ['unknown', ANY, 'Voice set to calm.'],
    ['failed', ANY, '{"name": "ZodError", "issues": [{"path": ["a"]}]}'],
    ['failed', ANY, '{"detail": [{"loc": ["body", "name"], "msg": "Field required"}]}'],
    // Another agent answers in prose.
    ['ok', { toolName: 'task', input: { prompt: 'x' } }, 'I could not find any failing test.'],
    ['failed', { toolName: 'task', input: { prompt: 'x' } }, 'The tool call was rejected by the user.'],
    // Clients write lines above an output, elements around it, or remarks instead of it.
    ['failed', ANY, "MCP tool 'x' reported tool error for function call: {}"],
    ['failed', run('git log -1'), '<tool_use_error>Sibling tool call errored</tool_use_error>'],
    [
      'failed',
      run('git log -1'),
      'Chunk ID: a\nProcess exited with code 128\nOutput:\nfatal: not a repository',
    ],
    ['failed', run('make'), 'Command executed.\nOutput:\nzsh: command not found: make'],
    ['failed', run('make'), 'Timed out. New output:\n\nstep 1'],
    ['failed', EDIT, 'Step A\n\n```text\n<tool_use_error>File has not been read</tool_use_error>\n```'],
    ['ok', EDIT, 'Script completed\nWall time 0.1 seconds\nOutput:\n{}'],
    // Still running.
    ['unknown', BUILD, 'Wall time: 1 s\nProcess running with session ID 27\nOutput:\nworking'],
    ['unknown', BUILD, 'Command running in background with ID: b46. Output is being written to: a.output'],
    ['unknown', BUILD, "Command is still running in the user's terminal.\nHere's the output so far:\nok"],
  ] as Case[])('without words of its own, is %s: %j said %j', (outcome, call, result) => {
    expect(outcomeOf(call, text(result))).toBe(outcome)
  })

  it('of a program that calls tools is that of their last output', () => {
    const call = { toolName: 'exec', input: 'text(await tools.exec_command({cmd: "npm test"}))' }
    const output = (value: string): ToolResultOutput => ({
      type: 'content',
      value: ['Script completed\nWall time 1 s\nOutput:\n', value].map((text) => ({ type: 'text', text })),
    })
    expect(outcomeOf(call, output('{"exit_code": 2, "output": ""}'))).toBe('failed')
    expect(outcomeOf(call, output('Tests: 1 failed, 3 passed'))).toBe('failed')
    expect(outcomeOf(call, output('Tests: 4 passed'))).toBe('ok')
  })

  it.each(SAID)('is %s: %j said %j', (outcome, call, result) => {
    expect(outcomeOf(call, text(result))).toBe(outcome)
  })

  const FAILED_ABROAD = [
    'cat: a: Datei oder Verzeichnis nicht gefunden',
    'bash: frob: Kommando nicht gefunden.',
    'Fehler: Der Ordner fehlt',
    'cat: a: Aucun fichier ou dossier de ce type',
    'bash: frob : commande introuvable',
    'Erreur : le dossier manque',
    'cat: a: No existe el fichero o el directorio',
    'bash: frob: orden no encontrada',
    'cat: a: Arquivo ou diretório inexistente',
    'cat: a: File o directory non esistente',
    'cat: a: Нет такого файла или каталога',
    'Ошибка: папки нет',
    'cat: a: 没有那个文件或目录',
    'bash: frob：未找到命令',
    '错误：文件夹不存在',
    'cat: a: そのようなファイルやディレクトリはありません',
    'エラー: フォルダがありません',
    'cat: a: 그런 파일이나 디렉터리가 없습니다',
    '오류: 폴더가 없습니다',
    '致命错误：仓库不存在',
    'ödesdigert: arkivet finns inte',
    'onulmaz: depo yok',
    'fatal : le dépôt manque',
    'bash: řádek 1: frob: příkaz nenalezen',
    'bash: рядок 1: cd: a: Немає такого файла або каталогу',
    'bash: 1 行: kill: (9) - そのようなプロセスはありません',
    'bash: 第 1 行：kill: (9) - 没有那个进程',
    'a.sh: satır 3: sözdizim hatası: beklenmeyen dosya sonu',
  ]

  it.each(FAILED_ABROAD)('is failed in another language: %s', (result) => {
    expect(outcomeOf(run('./build'), text(result))).toBe('failed')
  })

  it('is failed by every error flag, whatever the text says', () => {
    for (const output of [
      { type: 'error-text', value: 'Success' },
      { type: 'error-json', value: { ok: true } },
      { type: 'content', value: [{ type: 'text', text: 'Success' }], isError: true },
    ] as const) {
      expect(outcomeOf(READ, output)).toBe('failed')
    }
  })

  it('reads content of several texts at its ends, and is ok for an image', () => {
    const parts = (...texts: string[]): ToolResultOutput => ({
      type: 'content',
      value: texts.map((value) => ({ type: 'text', text: value })),
    })
    expect(outcomeOf(BUILD, parts('building', 'Command exited with code 1'))).toBe('failed')
    expect(outcomeOf(SERVICE, parts('Error: no such page'))).toBe('failed')
    expect(outcomeOf(READ, { type: 'content', value: [] })).toBe('unknown')
    const image = { type: 'image', image: 'aGk=', mediaType: 'image/png' } as const
    expect(outcomeOf(READ, { type: 'content', value: [image] })).toBe('ok')
  })

  it('is that of the fields of data, not of inherited ones', () => {
    expect(outcomeOf(SERVICE, data(JSON.parse('{"__proto__": {"error": "x"}, "id": 1}') as Json))).toBe('ok')
    expect(outcomeOf(SERVICE, data({ result: { isError: true } }))).toBe('failed')
    expect(outcomeOf(SERVICE, data(null))).toBe('unknown')
    expect(outcomeOf(SERVICE, data({}))).toBe('unknown')
  })

  it('follows the names of tools that an application gives', () => {
    const shown = text('Error: an example in a manual')
    const long = text(`Error: an example in a manual\n${'more of the manual\n'.repeat(400)}`)
    const call = { toolName: 'consult', input: { path: 'manual.md' } }
    expect(outcomeOf(call, long)).toBe('failed')
    expect(outcomeOf(call, long, { readTools: ['consult'] })).toBe('ok')
    expect(outcomeOf(call, shown, { readTools: ['consult'] })).toBe('failed')
  })

  it('is one of three values for any text and any data, and never throws', () => {
    const outputs = fc.oneof(
      fc.record({ type: fc.constant('text' as const), value: fc.string({ unit: 'binary' }) }),
      fc.record({ type: fc.constant('json' as const), value: fc.jsonValue() as fc.Arbitrary<Json> }),
    )
    fc.assert(
      fc.property(fc.constantFrom(READ, EDIT, SERVICE, BUILD, {}), outputs, (call, output) => {
        expect(['ok', 'failed', 'unknown']).toContain(outcomeOf(call, output))
      }),
    )
  })
})

/** Labels of real results, read by hand: by file and label, `line:message` (`message:part` in the Anthropic file). */
const LABELS = JSON.parse(readFileSync(new URL('./outcome-labels.json', import.meta.url), 'utf8')) as Record<
  string,
  Record<string, string[]>
>

const FILES = Object.keys(LABELS).map((file) => [file, sharedPath(`corpus/${file}`)] as const)

describe.skipIf(FILES.some(([, path]) => path === undefined))('544 real results, labelled by hand', () => {
  /** The outcome of each result by its place. */
  function outcomesIn(file: string, path: string): Map<string, Outcome> {
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    const values = lines.map((line) => JSON.parse(line) as { messages?: object[] })
    const isList = values[0]?.messages !== undefined
    const found = new Map<string, Outcome>()
    const lists: Message[][] = isList
      ? values.map(({ messages = [] }) => fromOpenAI(messages as never))
      : [fromAnthropic(values as never)]
    for (const [line, messages] of lists.entries()) {
      const calls = new Map<string, { toolName: string; input: Json }>()
      for (const [at, message] of messages.entries()) {
        for (const [index, part] of partsOf(message).entries()) {
          if (part.type === 'tool-call') calls.set(part.toolCallId, part)
          if (part.type !== 'tool-result') continue
          const outcome = outcomeOf(calls.get(part.toolCallId) ?? part, part.output)
          found.set(isList ? `${line}:${at}` : `${at}:${index}`, outcome)
        }
      }
    }
    if (found.size === 0) throw new Error(`${file} has no results`)
    return found
  }

  const read = FILES.flatMap(([file, path]) => {
    if (path === undefined) return []
    const outcomes = outcomesIn(file, path)
    return Object.entries(LABELS[file]!).flatMap(([label, places]) =>
      places.map((place) => ({
        place: `${file} ${place}`,
        right: label.split('|'),
        got: outcomes.get(place),
      })),
    )
  })

  it('at least 98 % are right', () => {
    expect(read).toHaveLength(544)
    const wrong = read.filter(({ right, got }) => got === undefined || !right.includes(got))
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(0.02 * read.length)
  })

  it('no call that failed is reported as ok', () => {
    expect(read.filter(({ right, got }) => !right.includes('ok') && got === 'ok')).toEqual([])
  })
})
