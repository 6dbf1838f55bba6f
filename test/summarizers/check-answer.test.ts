import { describe, expect, it } from 'vitest'
import { modelSummarizer, type NewMessage, openStore } from '../../src/index.ts'

let calls = 0
const call = (toolName: string, input: { readonly [name: string]: string }, output: string): NewMessage[] => {
  const toolCallId = `c${calls++}`
  return [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: output } }],
    },
  ]
}
const edit = (path: string, output = 'The file was edited.'): NewMessage[] =>
  call('edit_file', { path, old_text: 'a', new_text: 'b' }, output)
const NOT_EDITED = 'ERROR: No replacement was performed, old_text was not found.'
const run = (command: string, output: string): NewMessage[] => call('bash', { command }, output)
const say = (role: 'user' | 'assistant', content: string): NewMessage => ({ role, content })
/** What follows the summarized part, and is larger than the room for the tail. */
const REST = Array.from({ length: 12 }, (_, n) => [
  say('user', `And how about number ${n}? ${'Tell me more of it, please. '.repeat(12)}`),
  say('assistant', `Number ${n}: ${'there is a lot to tell about it. '.repeat(12)}`),
]).flat()

/** Compacts a conversation with a scripted model; returns the text of the summary, the prompts, and the result. */
async function summarized(messages: NewMessage[], answers: string | string[], options = {}) {
  const prompts: string[] = []
  const script = [answers].flat()
  const summarizer = modelSummarizer({
    name: 'scripted',
    maxInputTokens: 50_000,
    async generate({ system, prompt }) {
      prompts.push(`${system}\n${prompt}`)
      return { text: script[Math.min(prompts.length, script.length) - 1]!, finishReason: 'stop' }
    },
    ...options,
  })
  const store = await openStore(':memory:', { summarizer })
  await store.append('s', [...messages, ...REST])
  const config = { targetTokens: 1_500, keepRecentTokens: 600, enablePrune: false, enableDeduplicate: false }
  const result = (await store.compactSession('s', config))!
  const [summary] = result.messages.filter(({ kind }) => kind === 'summary')
  const [audit] = (await store.listCompactions('s')).filter(({ status }) => status === 'active')
  await store.close()
  const { text = '' } = { text: summary?.content as string }
  return { text, own: text.split('\n\n## Tool Calls')[0]!, prompts, result, audit: audit! }
}

const TASK = say('user', 'Please fix the rounding of fees.')

describe('what the model receives', () => {
  it('results are marked ok or failed as the log says, also those of agents without native tool calls', async () => {
    const { prompts } = await summarized(
      [
        TASK,
        ...run('make', 'make: *** [all] Error 2'),
        ...run('npm test', 'Tests  12 passed (12)'),
        say('assistant', 'I look at the files.\n\n```bash\ncat fees.py\n```'),
        say('user', 'OBSERVATION:\ncat: fees.py: No such file or directory'),
      ],
      'All is well.',
    )
    expect(prompts[0]).toContain('[result of bash, failed] make: *** [all] Error 2')
    expect(prompts[0]).toContain('[result of bash, ok] Tests  12 passed (12)')
    expect(prompts[0]).toMatch(/\[call bash .*cat fees\.py.*\n.*\[result of bash, failed\]/s)
  })

  it('the rules in force are listed word for word, without the withdrawn one', async () => {
    const { prompts } = await summarized(
      [
        TASK,
        say('assistant', 'Which limits are there?'),
        say('user', 'Never touch the file rates.py. Always use yarn for packages.'),
        say('assistant', 'Understood.'),
        say('user', 'You no longer need to use yarn for packages.'),
      ],
      'All is well.',
    )
    const listed = /RULES OF THE USER\n(.*?)\n\w{8} MESSAGE 1/s.exec(prompts[0]!)?.[1]
    expect(listed).toBe('User: "Never touch the file rates.py." (message 3)')
  })
})

describe('what a summary lacks is added from the log and marked', () => {
  it('rules in force, changed files and open failures', async () => {
    const { own, result, audit } = await summarized(
      [
        TASK,
        say('user', 'Never touch the file rates.py, it is shared.'),
        ...edit('/app/src/fees.py'),
        ...edit('/app/src/fees.py'),
        ...run('pytest tests', 'FAILED tests/test_fees.py::test_late - assert 1 == 2\n1 failed, 3 passed'),
      ],
      '## Current Work\n- The fees are being looked at.',
    )
    expect(own).toBe(
      [
        '## Current Work',
        '- The fees are being looked at.',
        '',
        '## Added from the log',
        '- User: "Never touch the file rates.py, it is shared." (message 2)',
        '- `/app/src/fees.py` — 2 edits',
        '- bash `pytest tests` failed: FAILED tests/test_fees.py::test_late - assert 1 == 2',
      ].join('\n'),
    )
    expect(result.compactions.at(-1)).toMatchObject({ added: 3 })
    expect(audit.params).toMatchObject({ added: 3 })
  })

  it('a call without a command that failed, when its tool did not succeed later', async () => {
    const failing = call('refund_item', { item: '5521' }, 'Error: the refund window is closed')
    const { own } = await summarized([TASK, ...failing], 'A new kettle is sent.')
    expect(own).toContain('- refund_item `5521` failed: Error: the refund window is closed')
    const later = [TASK, ...failing, ...call('refund_item', { item: '5521', to: 'card' }, 'refunded')]
    expect((await summarized(later, 'A new kettle is sent.')).own).toBe('A new kettle is sent.')
  })

  it('nothing, when the summary has all of it; whatever the case and punctuation of a rule', async () => {
    const answer =
      '- fees.py was edited twice.\n- `pytest tests` failed.\n- Rule: never touch the file `rates.py`; it is shared'
    const { own, result } = await summarized(
      [
        TASK,
        say('user', 'Never touch the file rates.py, it is shared.'),
        ...edit('/app/src/fees.py'),
        ...edit('/app/src/fees.py'),
        ...run('pytest tests', 'FAILED tests/test_fees.py::test_late\n1 failed, 3 passed'),
      ],
      answer,
    )
    expect(own).toBe(answer)
    expect(result.compactions.at(-1)).not.toHaveProperty('added')
    expect(result.compactions.at(-1)).not.toHaveProperty('corrected')
  })

  it('is read again by the next summary, offline or not', async () => {
    const prompts: string[] = []
    const summarizer = modelSummarizer({
      name: 'scripted',
      maxInputTokens: 50_000,
      async generate({ prompt }) {
        prompts.push(prompt)
        return { text: 'They talked.', finishReason: 'stop' }
      },
    })
    const store = await openStore(':memory:', { summarizer })
    await store.append('s', [
      say('user', 'Never touch the file rates.py.'),
      ...edit('/app/src/fees.py'),
      ...REST,
    ])
    const config = { targetTokens: 1_500, keepRecentTokens: 600, enablePrune: false }
    const first = (await store.compactSession('s', config))!
    const rule = '- User: "Never touch the file rates.py." (message 1)'
    expect(first.messages[0]!.content).toContain(
      `## Added from the log\n${rule}\n- \`/app/src/fees.py\` — 1 edit`,
    )
    await store.append('s', REST)
    const second = (await store.compactSession('s', config))!
    expect(prompts[1]).toContain('RULES OF THE USER\nUser: "Never touch the file rates.py." (message 1)')
    expect(second.messages[0]!.content).toContain(rule)
    await store.append('s', REST)
    const third = (await store.compactSession('s', { ...config, summarizer: undefined }))!
    expect(third.messages[0]!.content).toContain(rule)
    await store.close()
  })
})

describe('a line that contradicts the log is corrected after the text', () => {
  const FAILED_EDITS = [
    TASK,
    ...edit('/app/src/fees.py'),
    ...[1, 2].flatMap(() => edit('/app/src/fees.py', NOT_EDITED)),
  ]

  const FAILING = [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')]
  const NOT_CHANGED = [TASK, ...edit('/app/src/rates.py', NOT_EDITED)]
  const RATES = '/app/src/rates.py: 0 edits, 1 failed'
  const LAST_TESTS = 'the last tests failed: bash `npm test`'
  const READ = [TASK, ...call('read_file', { path: '/app/src/rates.py' }, 'DAYS = 3')]
  const REFUSED = [TASK, ...call('refund_item', { item: '5521' }, 'Error: the refund window is closed')]

  const PASSING = [
    TASK,
    ...edit('/app/src/fees.py'),
    ...run('npm test', 'Tests  12 passed (12)'),
    ...run('npm run build', 'built in 2.3s'),
  ]
  const CHAIN = [TASK, ...run('cd fees && npm test && npm run build', 'Tests  12 passed (12)\nbuilt in 2.3s')]
  const BUILD_FAILED = [TASK, ...run('npm run build', 'npm ERR! code ELIFECYCLE\nnpm ERR! errno 1')]
  const OVERCOME = [...FAILING, ...run('npm test', 'Tests  4 passed (4)')]
  const TWICE = [TASK, ...edit('/app/src/fees.py'), ...edit('/app/src/fees.py')]
  const plan = [
    { step: 'Write the migration guide', status: 'completed' },
    { step: 'Publish the release', status: 'pending' },
  ]
  const TODO = [TASK, ...call('update_plan', { plan: plan as never }, 'Plan updated')]

  it.each([
    [
      'a count in German',
      FAILED_EDITS,
      '`fees.py` wurde dreimal bearbeitet.',
      '/app/src/fees.py: 1 edit, 2 failed',
    ],
    [
      'a count in Spanish',
      FAILED_EDITS,
      'Se editó `fees.py` tres veces.',
      '/app/src/fees.py: 1 edit, 2 failed',
    ],
    [
      'a count in Chinese',
      FAILED_EDITS,
      '对 `fees.py` 做了 3 次修改。',
      '/app/src/fees.py: 1 edit, 2 failed',
    ],
    ['a count in Japanese', FAILED_EDITS, '`fees.py` を3回編集した。', '/app/src/fees.py: 1 edit, 2 failed'],
    ['a change in a table', NOT_CHANGED, '`src/rates.py` – updated', RATES],
    ['one of several changed files', NOT_CHANGED, 'Files changed: `src/fees.py`, `src/rates.py`', RATES],
    ['a change in German', NOT_CHANGED, 'In src/rates.py wurde die Abfrage ergänzt.', RATES],
    ['a change in Spanish', NOT_CHANGED, 'Se actualizó `src/rates.py`.', RATES],
    ['a change in French', NOT_CHANGED, '`src/rates.py` a été modifié.', RATES],
    ['a change in Chinese', NOT_CHANGED, '修改了 `src/rates.py`,加入分页。', RATES],
    ['a change in Japanese', NOT_CHANGED, '`src/rates.py` の色を変更しました。', RATES],
    [
      'a file that was only read',
      READ,
      'Adjusted `rates.py` so that DAYS is configurable.',
      '/app/src/rates.py: 0 edits',
    ],
    ['tests in German', FAILING, 'Alle 4 Tests sind bestanden.', LAST_TESTS],
    ['tests in Spanish', FAILING, 'Todas las pruebas pasan.', LAST_TESTS],
    ['tests in Chinese', FAILING, '已修复,测试全部通过。', LAST_TESTS],
    ['tests in Japanese', FAILING, 'すべてのテストが通りました。', LAST_TESTS],
    [
      'a chain told as a success',
      [TASK, ...run('cd fees && CI=1 make release', 'make: *** [release] Error 2')],
      '`cd fees && CI=1 make release` succeeded.',
      'bash `make release` failed',
    ],
    ['a command in Spanish', FAILING, 'Se ejecutó `npm test` con éxito.', 'bash `npm test` failed'],
    ['a command with a mark', FAILING, '`npm test` ✅', 'bash `npm test` failed'],
    [
      'a call of a tool',
      REFUSED,
      'Refunded the kettle (refund_item succeeded).',
      'refund_item `5521` failed',
    ],
    [
      'a withdrawn rule without its stress',
      [
        TASK,
        say('user', 'Always use yarn for packages.'),
        say('user', 'You no longer need to use yarn for packages.'),
      ],
      'Use yarn for packages in every folder.',
      'the user withdrew "Always use yarn for packages"',
    ],
    [
      'failed edits that are counted',
      FAILED_EDITS,
      'Made 3 edits to fees.py.',
      '/app/src/fees.py: 1 edit, 2 failed',
    ],
    [
      'a file that could not be changed',
      [TASK, ...edit('/app/src/rates.py', NOT_EDITED)],
      'Fixed the rounding in `src/rates.py`.',
      '/app/src/rates.py: 0 edits, 1 failed',
    ],
    [
      'a command that failed',
      [TASK, ...run('make release', 'make: *** [release] Error 2')],
      'Ran `make release`, which succeeded.',
      'bash `make release` failed',
    ],
    [
      'tests that failed last',
      [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')],
      'The rounding is done, and all tests pass.',
      'the last tests failed: bash `npm test`',
    ],
    [
      'tests that failed last, in other words',
      [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')],
      'All tests pass without errors.',
      'the last tests failed: bash `npm test`',
    ],
    [
      'a number in words',
      FAILED_EDITS,
      'Three edits were made to fees.py.',
      '/app/src/fees.py: 1 edit, 2 failed',
    ],
    [
      'the same in German',
      [TASK, ...run('npm run build', 'npm ERR! code ELIFECYCLE\nnpm ERR! errno 1')],
      '`npm run build` lief erfolgreich durch.',
      'bash `npm run build` failed',
    ],
    [
      'a failure that was overcome',
      [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)'), ...run('npm test', 'Tests  4 passed (4)')],
      '`npm test` still fails.',
      'bash `npm test` succeeded later',
    ],
    [
      'a rule that was withdrawn',
      [
        TASK,
        say('user', 'Always use yarn for packages.'),
        say('user', 'You no longer need to use yarn for packages.'),
      ],
      'Rule: "Always use yarn for packages."',
      'the user withdrew "Always use yarn for packages"',
    ],
    ['a failure of what succeeded', PASSING, '`npm run build` failed.', 'bash `npm run build` succeeded'],
    ['a failure of what the words name', PASSING, 'The build is broken.', 'bash `npm run build` succeeded'],
    ['a failure in German', PASSING, 'Der Build ist fehlgeschlagen.', 'bash `npm run build` succeeded'],
    ['a success of what the words name', BUILD_FAILED, 'The build succeeded.', 'bash `npm run build` failed'],
    ['all in order', FAILING, 'The rounding works now.', LAST_TESTS],
    ['a number of passed tests', PASSING, '14 tests passed.', 'the last tests: 12 passed, 0 failed'],
    ['failures that are counted as passed', FAILING, '4 passed.', 'the last tests: 3 passed, 1 failed'],
    ['a changed file as unchanged', PASSING, '`fees.py` was not modified.', '/app/src/fees.py: 1 edit'],
    ['another as unchanged, in Spanish', PASSING, '`fees.py` no se modificó.', '/app/src/fees.py: 1 edit'],
    ['too few edits', TWICE, '`fees.py` was edited once.', '/app/src/fees.py: 2 edits'],
    ['more files', PASSING, 'Changed 4 files.', '1 file was changed'],
    ['a file that no call names', PASSING, 'Created `src/limits.py`.', 'no call wrote src/limits.py'],
    [
      'a rule in force as withdrawn',
      [TASK, say('user', 'Never touch the file rates.py.')],
      'The rule never to touch the file rates.py no longer applies.',
      '"Never touch the file rates.py" is in force',
    ],
    ['a failure of one command of a chain', CHAIN, 'The tests are failing.', 'bash `npm test` succeeded'],
    [
      'a failure of what other words describe',
      CHAIN,
      'The build of the fees failed.',
      'bash `npm run build` succeeded',
    ],
    ['a file told as read', PASSING, '`fees.py`: read but not changed', '/app/src/fees.py: 1 edit'],
    [
      'numbers that a runner prints in two lines',
      [TASK, ...run('npm test', '# pass 9\n# fail 0')],
      '12 tests passed.',
      'the last tests: 9 passed, 0 failed',
    ],
    [
      'another branch',
      [TASK, ...run('git checkout -b fix/fees', "Switched to a new branch 'fix/fees'")],
      'Current branch: `main`',
      'the branch is fix/fees',
    ],
    [
      'a finished task',
      TODO,
      'Still open: write the migration guide.',
      '"Write the migration guide" is done',
    ],
  ])('%s', async (_, messages, line, note) => {
    const { own, result, prompts } = await summarized(messages, `## Current Work\n- ${line}\n- That is all.`)
    const quoted = line.replaceAll('"', "'")
    const model = `## Current Work\n- ${line}\n- That is all.`
    expect(own.slice(0, own.indexOf(note))).toBe(
      `${model}\n\n## Added from the log\n- Corrects "${quoted}": `,
    )
    expect(result.compactions.at(-1)!.corrected).toBe(1)
    // No second call of the model.
    expect(prompts).toHaveLength(1)
  })

  it('a file in a list below a heading of changed files', async () => {
    const { own } = await summarized(NOT_CHANGED, '## Files Modified\n- `src/fees.py`\n- `src/rates.py`')
    expect(own).toContain(`- Corrects "\`src/rates.py\`": ${RATES}`)
  })

  it.each([
    ['a failure in German', FAILING, '`npm test`: 1 Test schlägt fehl, 3 bestanden.'],
    ['another failure in German', FAILING, '`npm test` → ein Fehler, 3 bestanden.'],
    ['a failure before a success', FAILING, 'The tests (npm test) report one error; the build works.'],
    ['a goal in Chinese', FAILING, '下一步让所有测试通过。'],
    ['a purpose', FAILING, 'To make all tests pass, the handle has to be closed.'],
    ['words of the user', FAILING, 'User quote: "I fixed it myself and all tests pass."'],
    ['a condition', NOT_CHANGED, 'Sobald rates.py angepasst ist, laufen die Tests.'],
    ['what comes next', FAILING, '[ ] `npm test` passes'],
    ['what a file does', NOT_CHANGED, 'rates.py created a new client for each row, updated on each read.'],
    ['what a file returns', NOT_CHANGED, 'rates.py: days() returns the added rows.'],
    ['a change that is needed, in Japanese', NOT_CHANGED, 'rates.py を修正する必要がある。'],
    ['a change that failed, in Japanese', NOT_CHANGED, 'rates.py は変更できなかった。'],
    ['a change that failed, in Chinese', NOT_CHANGED, '修改 rates.py 时出错。'],
    ['a change of another file', READ, 'Added an export from src/rates.py to src/fees.py.'],
    [
      'several edits in one call',
      [
        TASK,
        ...call('multi_edit', { path: '/app/c.py', edits: ['a', 'b', 'c'] as never }, 'Applied 3 edits.'),
      ],
      'Made 3 edits to c.py.',
    ],
    [
      'edits by scripts',
      [TASK, ...edit('/app/one.py'), ...run('python3 fix.py one.py', '')],
      'Edited one.py 3 times.',
    ],
    [
      'a file that a subagent may have changed',
      [...READ, ...call('Task', { prompt: 'Fix the rounding everywhere.' }, 'Fixed.')],
      'Fixed the rounding in src/rates.py.',
    ],
    [
      'a call that succeeded in the end',
      [...REFUSED, ...call('refund_item', { item: '7730' }, 'refunded')],
      'refund_item succeeded for 7730.',
    ],
    ['a true count', FAILED_EDITS, 'Made 1 edit to fees.py; two attempts failed.'],
    ['a plan', FAILED_EDITS, 'The 3 edits to fees.py should be tried again.'.replace('3 edits', 'edits')],
    [
      'a failure that is reported',
      [TASK, ...run('make release', 'make: *** [release] Error 2')],
      '`make release` failed, so the release does not work yet.',
    ],
    [
      'tests that pass in the end',
      [TASK, ...run('npm test', '1 failed, 3 passed'), ...run('npm test', 'Tests  4 passed (4)')],
      '`npm test` failed at first; now all tests pass.',
    ],
    [
      'a withdrawal that is reported',
      [
        TASK,
        say('user', 'Always use yarn for packages.'),
        say('user', 'You no longer need to use yarn for packages.'),
      ],
      '"Always use yarn for packages." no longer holds.',
    ],
    [
      'a mixed result',
      [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')],
      '`npm test`: 3 passed, 1 failed.',
    ],
    ['a goal', [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')], 'Goal: get all tests passing.'],
    [
      'tests of one kind',
      [TASK, ...run('npm run test:integration', 'Tests  1 failed | 3 passed (4)')],
      'The unit tests pass.',
    ],
    [
      'another command that begins like the failed one',
      [TASK, ...run('make', 'make: *** [all] Error 2'), ...run('make test', 'Tests  4 passed (4)')],
      '`make test` passed. These changes make the parser work.',
    ],
    [
      'the same command with another argument',
      [
        TASK,
        ...run('git push', '! [rejected] main -> main\nerror: failed to push some refs'),
        ...run('git push --force-with-lease', 'main -> main (forced update)'),
      ],
      '`git push --force-with-lease` succeeded.',
    ],
    [
      'a file that was looked for before it was created',
      [
        TASK,
        ...call('read_file', { path: '/app/new.py' }, 'Error: ENOENT: no such file or directory'),
        ...call('write_file', { path: '/app/new.py', content: 'x = 1' }, 'File created.'),
      ],
      'Created `/app/new.py` successfully.',
    ],
    [
      'a file that a script changed after the edit had failed',
      [
        TASK,
        ...edit('/app/src/rates.py', NOT_EDITED),
        ...run("python3 -c \"open('src/rates.py','w').write('x')\"", ''),
      ],
      'Updated `src/rates.py` with a script.',
    ],
    ['a share of the edits', FAILED_EDITS, '2 of the 3 edits to fees.py failed.'],
    ['other numbers', FAILED_EDITS, 'In fees.py, changed the request to retry up to 5 times.'],
    [
      'a rule that was stated again',
      [
        TASK,
        say('user', 'Always use yarn for packages.'),
        say('user', 'You no longer need to use yarn for packages.'),
        say('user', 'Always use yarn for packages.'),
      ],
      'Rule: Always use yarn for packages.',
    ],
    [
      'a failure that was overcome and is told in order',
      OVERCOME,
      '`npm test` failed first, then it passed.',
    ],
    ['a condition of a failure', PASSING, 'The build fails when the key is missing.'],
    ['the true numbers', FAILING, '3 of 4 tests pass, 1 fails.'],
    ['a part of a file that is unchanged', PASSING, '`fees.py`: the names stay unchanged.'],
    ['a file that was only read', READ, '`rates.py` was not modified.'],
    ['an open task', TODO, 'Still open: publish the release.'],
    [
      'a finished task beside an open one',
      TODO,
      'The migration guide is written; the release is still open.',
    ],
    [
      'a command that succeeded later within a chain',
      [...BUILD_FAILED, ...run('. ~/.nvm/nvm.sh && npm run build', 'built in 2.3s')],
      '`npm run build` succeeded.',
    ],
    [
      'a file that git lists as changed',
      [...READ, ...run('git status --short', ' M src/rates.py')],
      'Fixed the rounding in src/rates.py.',
    ],
    ['a repair beside failing tests', FAILING, 'The typo in the heading was fixed.'],
  ])('not %s', async (_, messages, line) => {
    const { own } = await summarized(messages, `- ${line}`)
    expect(own).not.toContain('Corrects')
  })
})

describe('with retryContradictions', () => {
  const messages = [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')]

  it('an answer that contradicts the log is requested once more, with the reason', async () => {
    const answers = ['All tests pass.', '`npm test` failed with one test.']
    const { own, prompts, result } = await summarized(messages, answers, { retryContradictions: true })
    expect(prompts).toHaveLength(2)
    expect(prompts[1]).toContain('contradicted the record')
    expect(own).toBe('`npm test` failed with one test.')
    expect(result.failed).toMatchObject([{ error: 'SUMMARY_CONTRADICTS_LOG', summarizer: 'scripted' }])
  })

  it('the second answer is used with corrections', async () => {
    const { own, prompts } = await summarized(messages, 'All tests pass.', { retryContradictions: true })
    expect(prompts).toHaveLength(2)
    expect(own).toContain('- Corrects "All tests pass.": the last tests failed: bash `npm test`')
  })
})

describe('over many rounds', () => {
  it('the added lines are those of the log, whatever the model makes of its rules', async () => {
    let round = 0
    const summarizer = modelSummarizer({
      name: 'scripted',
      maxInputTokens: 50_000,
      async generate() {
        round += 1
        const text = [
          '## Constraints and Established Rules',
          `The user laid down these (as of part ${round}):`,
          `- Keep away from rates.py, version ${round}.`,
          '- Always use yarn for packages.',
        ]
        return { text: text.join('\n'), finishReason: 'stop' }
      },
    })
    const store = await openStore(':memory:', { summarizer })
    await store.append('s', [
      say('user', 'Never touch the file rates.py, it is shared. Always use yarn for packages.'),
      say('assistant', 'Understood.'),
      say('user', 'You no longer need to use yarn for packages.'),
    ])
    const config = { targetTokens: 1_500, keepRecentTokens: 600, enablePrune: false }
    for (let i = 0; i < 5; i++) {
      await store.append('s', REST)
      const result = (await store.compactSession('s', config))!
      const text = String(result.messages[0]!.content)
      expect(result.compactions.at(-1), `round ${i}`).toMatchObject({ added: 1 })
      expect(text.split('## Added from the log')).toHaveLength(2)
      expect(text).toContain('- User: "Never touch the file rates.py, it is shared." (message 1)')
    }
    expect(round).toBe(5)
    await store.close()
  })
})

describe('a contradiction with what an earlier summary replaced', () => {
  it.each([
    ['a withdrawn rule', 'Always use yarn for packages.', 'the user withdrew "Always use yarn for packages"'],
    ['tests that failed last', 'All tests pass.', 'the last tests failed: bash `npm test`'],
  ])('is corrected in every round: %s', async (_, line, note) => {
    const generate = async () => ({ text: `- ${line}`, finishReason: 'stop' })
    const summarizer = modelSummarizer({ name: 'scripted', maxInputTokens: 50_000, generate })
    const store = await openStore(':memory:', { summarizer })
    await store.append('s', [
      say('user', 'Always use yarn for packages.'),
      say('user', 'You no longer need to use yarn for packages.'),
      ...run('npm test', 'Tests  1 failed | 3 passed (4)'),
    ])
    const config = { targetTokens: 1_500, keepRecentTokens: 600, enablePrune: false }
    for (let round = 0; round < 3; round++) {
      await store.append('s', REST)
      const { messages } = (await store.compactSession('s', config))!
      expect(messages[0]!.content, `round ${round}`).toContain(`- Corrects "${line}": ${note}`)
    }
    await store.append('s', [
      say('user', 'Always use yarn for packages.'),
      ...run('npm test', 'Tests  4 passed (4)'),
      ...REST,
    ])
    const { messages } = (await store.compactSession('s', config))!
    expect(messages[0]!.content).not.toContain('Corrects')
    await store.close()
  })
})

describe('remarks', () => {
  it('never make a summary too large: what has no room is left out', async () => {
    const store = await openStore(':memory:', {
      summarizer: modelSummarizer({
        name: 'scripted',
        maxInputTokens: 50_000,
        generate: async () => ({ text: `- ${'the work goes on '.repeat(34)}`, finishReason: 'stop' }),
      }),
    })
    const rules = [1, 2, 3].map((n) =>
      say('user', `Never touch the file number${n}.py, it is shared by team ${n}.`),
    )
    await store.append('s', [TASK, ...rules, ...REST.slice(-2)])
    const result = (await store.compactSession('s', { targetTokens: 250, keepRecentTokens: 150 }))!
    expect(result.failed).toEqual([])
    await store.close()
  })

  it('leave the text of the model as it is, and concern no code', async () => {
    const failing = [TASK, ...run('npm test', 'Tests  1 failed | 3 passed (4)')]
    const table = '| what | state |\n| --- | --- |\n| fees | All tests pass. |'
    const answer = `## All tests pass\n${table}\n\`\`\`text\nAll tests pass.\n\`\`\``
    const { own } = await summarized(failing, answer)
    const fact = 'the last tests failed: bash `npm test`'
    expect(own).toBe(
      `${answer}\n\n## Added from the log\n- Corrects "All tests pass": ${fact}\n` +
        `- Corrects "| fees | All tests pass. |": ${fact}\n- bash \`npm test\` failed: Tests 1 failed | 3 passed (4)`,
    )
  })

  it('of an earlier summary, and imitations of them, are not taken over', async () => {
    const { own } = await summarized(
      [TASK],
      '- All is well.\n\n## Added from the log\n- User: "Always push to main." (message 1)',
    )
    expect(own).toBe('- All is well.')
  })
})

it('a summary a little above its room loses lines of its least important section, and no message after it is replaced', async () => {
  const lines = (count: number, name: string): string =>
    Array.from({ length: count }, (_, n) => `- ${name} ${n} is described in a line.`).join('\n')
  const talk = Array.from({ length: 5 }, () => REST).flat()
  const compacted = async (concepts: number) => {
    const text = `## Key Technical Concepts\n${lines(concepts, 'Concept')}\n\n## Current Work\n${lines(90, 'Step')}\n\n## Constraints and Established Rules\n- Never push.`
    const generate = async () => ({ text, finishReason: 'stop' })
    const summarizer = modelSummarizer({ name: 'scripted', maxInputTokens: 50_000, generate })
    const store = await openStore(':memory:', { summarizer })
    await store.append('s', talk)
    const result = (await store.compactSession('s', { targetTokens: 3_000, enablePrune: false }))!
    await store.close()
    return { text, result, shown: String(result.messages[0]!.content) }
  }
  const fitting = await compacted(30)
  expect(fitting.shown).toBe(fitting.text)
  const longer = await compacted(130)
  expect(longer.result.messages).toHaveLength(fitting.result.messages.length)
  expect(longer.result.tokensAfter).toBeLessThanOrEqual(3_000)
  // Whole lines, from the first of the section on.
  const kept = longer.shown.split('\n').filter((line) => line.startsWith('- Concept')).length
  expect(kept).toBeLessThan(130)
  expect(longer.shown).toBe(longer.text.replace(lines(130, 'Concept'), lines(kept, 'Concept')))
})
