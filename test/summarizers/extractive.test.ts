import { describe, expect, it } from 'vitest'
import { extractiveSummarizer } from '../../src/core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'
import { assistant, call, did, failure, type Row, result, sectionsOf, summarize, user } from './support.ts'

/** What tools usually answer with: long, and of no interest. It makes room for what is. */
const FILLER = 'line of output\n'.repeat(400)

const SESSION: Row[] = [
  user(
    'Please build a parser for INI files in src/ini.ts. It must keep comments. Never use external dependencies.',
  ),
  assistant('I will start with the tokenizer.', call('c1', 'read', { path: '/app/src/lexer.ts' })),
  result('c1', FILLER),
  assistant(
    'Now the parser.',
    call('c2', 'write', {
      path: '/app/src/ini.ts',
      content: '// Parser for INI files.\nexport function parseIni(text: string) {\n  return {}\n}\n',
    }),
  ),
  result('c2', 'Wrote 4 lines'),
  assistant('Now the tests.', call('c3', 'bash', { command: 'cd /app && npm test' })),
  failure('c3', `> app@1.0.0 test\n${FILLER}TypeError: cannot read properties of undefined\n    at parseIni`),
  assistant(
    'The section map was never created. I fixed it.',
    call('c4', 'edit', { path: '/app/src/ini.ts', oldText: 'return {}', newText: 'return new Map()' }),
  ),
  result('c4', 'ok'),
  ...did('c5', 'bash', { command: 'cd /app && npm test' }, '5 passed'),
  ...did('c6', 'bash', { command: 'git commit -am "Parse INI sections"' }),
  assistant('The parser works and all tests pass.\n\nRemaining:\n- write the README\n- publish the package'),
  user('Great. From now on, use tabs instead of spaces. Why is the README missing?'),
  assistant("You're right. The README should describe the comment syntax.\n\nNext, I will write the README."),
]

describe('the sections of a small session', () => {
  const sections = sectionsOf(summarize(SESSION))

  it('are under the default titles, in their order', () => {
    expect(Object.keys(sections)).toEqual(SUMMARY_SECTIONS)
  })

  it('tell the requests in the words of the user', () => {
    expect(sections['Primary Request and Intent']).toEqual([
      'First request: "Please build a parser for INI files in src/ini.ts. It must keep comments. Never use external dependencies."',
      'Newest request: "Great. From now on, use tabs instead of spaces. Why is the README missing?"',
    ])
  })

  it('tell what was done to which file', () => {
    expect(sections['Files and Code Sections']).toEqual([
      '`/app/src/lexer.ts` — 1 read',
      '`/app/src/ini.ts` — written, 1 edit — "Parser for INI files."',
      '· export function parseIni(text: string)',
    ])
    // The lexer was read before the last change.
    expect(sections['Required Files']).toEqual(['`/app/src/ini.ts`'])
  })

  it('list what failed, the reply to it, and that it was overcome', () => {
    expect(sections['Problem Solving']).toEqual([
      'bash `npm test` failed, later succeeded: TypeError: cannot read properties of undefined → The section map was never created.',
      'User: "Why is the README missing?" → Assistant: "The README should describe the comment syntax."',
    ])
  })

  it('tell what remains', () => {
    expect(sections['Pending Tasks']).toEqual(['write the README', 'publish the package'])
    expect(sections['Next Step']).toEqual(['Assistant: "Next, I will write the README."'])
  })

  it('tell how the task went on', () => {
    expect(sections['Task Evolution']).toEqual([
      '"Please build a parser for INI files in src/ini.ts. It must keep comments. Never use external dependencies." → The parser works and all tests pass.',
      'Commit: Parse INI sections',
      '"Great. From now on, use tabs instead of spaces. Why is the README missing?" → The README should describe the comment syntax.',
    ])
  })

  it('tell the directory, and what commands did', () => {
    expect(sections['Key Technical Concepts']).toEqual([
      'Working directory: `/app`',
      'bash `npm test` (failed, ok) — app@1.0.0',
      'bash `git commit -am "Parse INI sections"` (ok)',
    ])
  })

  it('tell the rules of the user word for word', () => {
    expect(sections['Constraints and Established Rules']).toEqual([
      'User: "It must keep comments."',
      'User: "Never use external dependencies."',
      'User: "From now on, use tabs instead of spaces."',
    ])
  })

  it('tell what was going on, without the announced step', () => {
    expect(sections['Current Work']).toEqual(['The README should describe the comment syntax.'])
  })
})

it('a request that is too long is shortened, with the beginning of its code', () => {
  const code = ['```python', 'def total_cents(net):', '    return round(net * 1.19)', '```'].join('\n')
  const request = `Totals are wrong by a cent. ${'Please look at each of them. '.repeat(200)}\n${code}`
  const reply = 'I will look at the totals of March first. '.repeat(200)
  const text = summarize([user(request), assistant(reply)])
  expect(text).toMatch(/^- First request: "Totals are wrong by a cent\. .{500,4000}… ```def total_cents/m)
  expect(text).toContain('```def total_cents(net): return round(net * 1.19)```"')
})

describe('rules', () => {
  const rules = (...texts: string[]) =>
    sectionsOf(summarize([...texts.map(user), ...did('c', 'bash', { command: 'x' }, FILLER)]))[
      'Constraints and Established Rules'
    ]

  it.each([
    'You must keep the order of keys.',
    'never touch the lexer',
    'Always run the linter first.',
    "Don't add comments to the code.",
    'Do not reformat files you did not change.',
    'I prefer small commits.',
    'Use pnpm instead of npm here.',
    'We decided that dates are UTC.',
    "Let's call the table entries.",
    'Agreed, two spaces it is.',
    'From now on answer in German.',
    'Important: the tests run without a network.',
    'i would only want e2e tests',
    'Can you please keep the old code around?',
  ])('%s', (text) => {
    expect(rules(`Hello there. ${text} Thanks.`)).toContain(
      `User: "${text.endsWith('code.') || /[.?]$/.test(text) ? text : `${text} Thanks.`}"`,
    )
  })

  it.each([
    "I don't know what this is about.",
    'It must be a bug in the parser.',
    "I've always had great experiences.",
    'This led to me missing an important meeting.',
    'Why must the order be kept?',
    'The mustard is evergreen.',
    'The file is large.',
  ])('not: %s', (text) => {
    expect(rules(text)).toBeUndefined()
  })

  it('are the items of a list that is announced as rules', () => {
    expect(rules('You must follow these rules:\n\n- tabs only\n- no emojis\n\nThen start.')).toEqual([
      'User: "You must follow these rules: tabs only"',
      'User: "You must follow these rules: no emojis"',
    ])
  })

  it('are not looked for in code', () => {
    expect(rules('See:\n```\n// never call this\n```\nwhat does it do?')).toBeUndefined()
  })

  it('are not what the assistant says, and no corrections that forbid nothing', () => {
    const given = summarize([
      user('no, that is horrible. tools -> core/tools'),
      assistant("You're absolutely right. You must never connect `unsubscribe()`; listeners stay."),
      ...did('c', 'bash', { command: 'x' }, FILLER),
    ])
    expect(sectionsOf(given)['Constraints and Established Rules']).toBeUndefined()
  })

  it.each([
    ["Don't commit yet.", 'Looks good. Commit and push.'],
    ['Do not write code yet, explain it first.', 'Great, go ahead.'],
    ['先不要提交代码。', '好 提交代码吧。'],
    ['For this step, never touch the schema.', 'Now rename the columns.'],
    ['Just explain it, don’t do anything.', 'Now rename the columns.'],
  ])('end when they are fulfilled: %s', (rule, command) => {
    expect(rules(rule, 'why is it so slow?')).toEqual([`User: "${rule}"`])
    expect(rules(rule, 'why is it so slow?', command)).toBeUndefined()
    // A firm rule does not end like that.
    expect(rules('Never push to main.', command)).toEqual(['User: "Never push to main."'])
  })

  it.each([
    'Every commit pushes to the server, and it never works.',
    'git commit -m "never again" and git push, and do not forget to push the tags',
    'Let us go with the first option instead of the second.',
    'The screen must show:\n- a card\n- a table',
    '// never call this twice',
    'If I run it, it always fails before any test.',
    'What if I do not want to use a database',
    'No number of retries helps.',
    'There should always be a row for each user.',
    'We do not want the boxes on this page.',
    'It should only show the newest rows.',
  ])('are no reports, single commands, code or descriptions: %s', (text) => {
    expect(rules(`Hello there.\n${text}\nThanks.`)).toBeUndefined()
  })

  it.each([
    'Before writing any code, show me the plan.',
    'When you run tests, use the terminal only.',
    'Be careful not to fill up the context window.',
    'Keep your answers short.',
    'No code changes.',
    'Ask me before deleting anything.',
  ])('are ways to work: %s', (text) => {
    expect(rules(`Hello there.\n${text}`)).toEqual([`User: "${text}"`])
  })

  it.each([
    ['Read CONTRIBUTING.md and follow it.', 'CONTRIBUTING.md'],
    ['Siehe bitte @CLAUDE.md.', 'CLAUDE.md'],
    ['Respecte les règles de docs/STYLE.md.', 'docs/STYLE.md'],
    ['Sigue las reglas de `AGENTS.md` y GEMINI.md.', 'AGENTS.md, GEMINI.md'],
    ['Siga as regras do .cursorrules.', '.cursorrules'],
    ['Segui le regole in .github/copilot-instructions.md.', '.github/copilot-instructions.md'],
    ['Следуй правилам из CONTRIBUTING.md.', 'CONTRIBUTING.md'],
    ['请遵循 CLAUDE.md 中的规范。', 'CLAUDE.md'],
    ['CLAUDE.md の規約に従ってください。', 'CLAUDE.md'],
    ['AGENTS.md 규칙을 따라 주세요.', 'AGENTS.md'],
  ])('in files that are to be obeyed are named by file: %s', (text, files) => {
    expect(rules(`Hello there.\n${text}`)).toEqual([`Rules in files: ${files}`])
  })

  it.each([
    'Fix the typo in CONTRIBUTING.md.',
    'Read the log and update CLAUDE.md.',
    'CLAUDE.md is too long.',
    'Follow the steps in docs/plan.md to the end',
  ])('in files are not named for work on a file: %s', (text) => {
    expect(rules(`Hello there.\n${text}`)?.filter((line) => line.startsWith('Rules in'))).not.toEqual([
      expect.anything(),
    ])
  })

  it('in files that a client gives are one line with those of the user, until the user lifts them', () => {
    const given =
      '<system-reminder>\nContents of /app/CLAUDE.md (project instructions):\n\nNever use tabs.\n</system-reminder>\nRepair the gate.'
    const first = summarize([user(given), user('Always obey AGENTS.md.'), assistant('Done. '.repeat(400))])
    const next = (text: string, previousSummary: string) =>
      summarize([user(text), assistant('Done. '.repeat(400))], { previousSummary })
    const of = (summary: string) => sectionsOf(summary)['Constraints and Established Rules']
    expect(of(first)).toEqual(['Rules in files: /app/CLAUDE.md, AGENTS.md'])
    // A bare name is the known file of that name.
    const second = next('See CLAUDE.md and docs/STYLE.md. Never push.', first)
    expect(of(second)).toEqual([
      'Rules in files: /app/CLAUDE.md, AGENTS.md, docs/STYLE.md',
      'User: "Never push."',
    ])
    expect(of(next('You need not follow AGENTS.md any more.', second))).toEqual([
      'Rules in files: /app/CLAUDE.md, docs/STYLE.md',
      'User: "Never push."',
    ])
  })

  it('are read across the lines of a wrapped paragraph', () => {
    const wrapped =
      'Store the key as a hash on all of the routes of reviews, and\n  never write the key to a log of any kind or to an\n  Event of the audit.'
    expect(rules(wrapped)).toEqual([`User: "${wrapped.replaceAll(/\n +/g, ' ')}"`])
  })

  it('are not what others say in a conversation of several people, or a program beside the user', () => {
    const said = (name: string | undefined, text: string): Row => ({
      ...user(text),
      ...(name !== undefined && { metadata: { openai: { name } } }),
    })
    const of = (...rows: Row[]) =>
      sectionsOf(summarize([...rows, ...did('c', 'bash', { command: 'x' }, FILLER)]))[
        'Constraints and Established Rules'
      ]
    const [ann, bob] = [said('ann', 'Hello, all of you.'), said('bob', 'Always use tabs.')]
    expect(of(ann, bob, said('cleo', 'Never use spaces here.'))).toBeUndefined()
    expect(of(said('ann', 'Never use tabs here.'), said('ann', 'Go on.'))).toHaveLength(1)
    expect(of(said('console', 'You must never close it.'), said(undefined, 'Never use tabs here.'))).toEqual([
      'User: "Never use tabs here."',
    ])
  })

  it('are not the instructions of a command of the client', () => {
    const command = '<command-name>/review</command-name>\n<command-args>177</command-args>'
    expect(rules(command, 'Review pull request 177. Never write more than a page.')).toBeUndefined()
    expect(rules(command, 'Never write more than a page.')).toHaveLength(1)
    // A command without words: its instructions are long, what the user writes next is short.
    const bare = '<command-name>/clear</command-name>\n<command-args></command-args>'
    const long = `Review the code. Never write more than a page. ${'Look at every line of it. '.repeat(30)}`
    expect(rules(bare, long)).toBeUndefined()
    expect(rules(bare, 'Never write more than a page.')).toHaveLength(1)
  })

  it('are not the text of a file that was pasted into a conversation', () => {
    const file = `# Logging\n\n${'Logs are kept for a month. '.repeat(60)}\n\n- Never log passwords.\n`
    expect(rules('Hello there.', file)).toBeUndefined()
    expect(rules('Hello there.', `Move this.\n\n${file}`)).toEqual(['User: "Never log passwords."'])
  })

  it('are the reason for a refusal, unless it asks or reports', () => {
    const refused = (reason: string) =>
      sectionsOf(
        summarize([
          user('Repair the gate.'),
          assistant('', call('c', 'bash', { command: 'npm install' })),
          failure('c', `The tool use was rejected. To tell you how to proceed, the user said:\n${reason}`),
          ...did('d', 'bash', { command: 'x' }, FILLER),
        ]),
      )['Constraints and Established Rules']
    expect(refused('pnpm, not npm')).toEqual(['User: "pnpm, not npm"'])
    expect(refused('why do you need that?')).toBeUndefined()
    expect(refused('the lock file is missing')).toBeUndefined()
    // What is asked for instead is a request.
    expect(refused('Now write a parser for the file. It has three columns.')).toBeUndefined()
  })

  it.each([
    ['Never use external dependencies.', 'You may use external dependencies now, that is fine again.'],
    ['Always run the linter before a commit.', 'Forget the linter, it is too slow.'],
    ['Du darfst die Datenbank niemals ändern.', 'Du darfst die Datenbank jetzt ändern.'],
    ['不要修改数据库。', '现在可以修改数据库了。'],
    ['Always use pnpm.', 'You may now use npm instead of pnpm.'],
  ])('disappear when they are withdrawn: %s', (rule, withdrawal) => {
    expect(rules(rule, 'Tabs must be kept.')).toEqual([`User: "${rule}"`, 'User: "Tabs must be kept."'])
    expect(rules(rule, 'Tabs must be kept.', withdrawal)).toEqual(['User: "Tabs must be kept."'])
  })

  it('stay without the clause that is withdrawn', () => {
    expect(
      rules('Never round before the total, and do not touch src/rates.py.', 'You may touch rates.py now.'),
    ).toEqual(['User: "Never round before the total"'])
  })

  it('are withdrawn by the most words, not by a shorter rule that shares one', () => {
    expect(
      rules(
        'Never run the slow tests of the importer.',
        'Always use tests.',
        'You may run the slow tests of the importer now.',
      ),
    ).toEqual(['User: "Always use tests."'])
  })

  it('are wishes, not what the user has forgotten', () => {
    expect(
      rules(
        "I don't remember the number of my order.",
        "I can't remember which card I used.",
        'I cannot remember the street either.',
        "I don't want a voucher, please.",
      ),
    ).toEqual(['User: "I don\'t want a voucher, please."'])
  })

  it.each([
    'Authentication required.',
    'No signup required to read it.',
    'Fees and other important information are in the prospectus.',
    'The news are at https://example.com/an-important-update-never-seen there.',
    'In the search we have the dots, in the list we don’t.',
    '"name": "You must always log in",',
    'at Gate.mustOpen (gate.ts:4:1)',
    'The important rules, which you must follow:',
    '为什么这个文件必须放在这里呢',
  ])('are neither reports nor output nor headings: %s', (text) => {
    expect(rules(`Hello there.\n${text}\nThanks.`)).toBeUndefined()
  })

  it('are not statements and steps of the work', () => {
    expect(
      rules("The tests don't work on Windows.", "Let's run them again.", "Let's look at the log."),
    ).toBeUndefined()
  })
})

describe('the state of the work', () => {
  const currentOf = (...rows: Row[]) =>
    sectionsOf(summarize([user('Repair the gate.'), ...rows]))['Current Work']

  it('is what was stated last, when only steps were announced since', () => {
    const steps = ['Now let me look at the hinge:', "I'll oil it.", 'Good, now let me run the tests.']
    const rows = steps.flatMap((step, i) => [
      assistant(step),
      ...did(`c${i}`, 'bash', { command: 'x' }, FILLER),
    ])

    expect(currentOf(assistant('The hinge is rusty.'), ...rows)).toEqual([
      'The hinge is rusty.',
      'Since then: 3 calls, last: bash `x` ok',
    ])
    expect(currentOf(...rows)).toEqual(['Latest calls: 3 calls, last: bash `x` ok'])
  })

  it('ends before the step that a reply announces', () => {
    const reply =
      'The hinge is rusty.\n- the bolt is fine\n- the lock is fine\n\nLet me oil it. Then I test it:'
    expect(currentOf(assistant(reply), ...did('c', 'bash', { command: 'x' }, FILLER))).toEqual([
      'The hinge is rusty.',
      'Since then: 1 call, last: bash `x` ok',
    ])
  })

  it('is not introduced: an outcome is the first sentence that tells something', () => {
    const reply = "Here's a summary of the work:\n\n- The hinge is oiled and moves again."
    const text = summarize([
      user('Repair the gate.'),
      ...did('c', 'bash', { command: 'x' }, FILLER),
      assistant(reply),
    ])
    expect(sectionsOf(text)['Task Evolution']).toEqual([
      '"Repair the gate." → The hinge is oiled and moves again.',
    ])
  })

  it('an announcement that ends in a colon is no next step', () => {
    expect(
      sectionsOf(summarize([user('Repair the gate.'), assistant('Let me fix it:')]))['Next Step'],
    ).toBeUndefined()
  })
})

describe('open tasks', () => {
  it('come from the last list given to a tool for tasks', () => {
    const todos = (status: string) => ({
      todos: [
        { content: 'write the lexer', status: 'completed' },
        { content: 'write the parser', status },
        { content: 'write the printer', status: 'pending' },
      ],
    })
    const text = summarize([
      user('go'),
      ...did('c1', 'TodoWrite', todos('pending'), FILLER),
      ...did('c2', 'TodoWrite', todos('in_progress')),
    ])

    expect(sectionsOf(text)['Pending Tasks']).toEqual([
      'Answer the user: "go"',
      'write the parser (in progress)',
      'write the printer',
    ])
  })

  it('come from check boxes in what was written, with their latest state, next ones first', () => {
    const plan = '# Plan\n- [ ] one\n- [ ] two\n- [ ] three\n- [ ] four'
    const text = summarize([
      user('plan it'),
      ...did('c1', 'write', { path: 'plan.md', content: plan }, FILLER),
      ...did('c2', 'edit', { path: 'plan.md', oldText: '- [ ] two', newText: '- [x] two' }),
      ...did('c3', 'edit', { path: 'plan.md', oldText: '- [ ] four', newText: '- [ ] the fourth' }),
      assistant('Two is done.'),
    ])

    expect(sectionsOf(text)['Pending Tasks']).toEqual(['three', 'the fourth', 'one'])
  })

  it('name the file when there are too many', () => {
    const plan = `- [x] think\n${Array.from({ length: 13 }, (_, i) => `- [ ] task number ${i}`).join('\n')}`
    const text = summarize([
      user('plan it'),
      ...did('c1', 'write', { path: 'plan.md', content: plan }, FILLER),
      assistant('Planned.'),
    ])

    expect(sectionsOf(text)['Pending Tasks']?.slice(-2)).toEqual([
      'task number 9',
      'and 3 more unchecked in `plan.md`',
    ])
  })

  it('are the last request, while it has no answer', () => {
    const text = summarize([
      user('build it'),
      assistant('Built.'),
      ...did('c1', 'bash', { command: 'make' }, FILLER),
      user('Now explain how the cache is invalidated.'),
    ])

    expect(sectionsOf(text)['Pending Tasks']).toEqual([
      'Answer the user: "Now explain how the cache is invalidated."',
    ])
    expect(sectionsOf(text)['Next Step']).toEqual([
      'Answer the user: "Now explain how the cache is invalidated."',
    ])
  })
})

describe('other sections', () => {
  it('nine of them, without the constraints, lose no rule', () => {
    const nine = SUMMARY_SECTIONS.slice(0, 9)
    const sections = sectionsOf(summarize(SESSION, { sections: nine }))

    expect(Object.keys(sections)).toEqual(nine)
    expect(sections['Primary Request and Intent']).toContain('User: "Never use external dependencies."')

    const again = summarize([user('go on'), assistant('Going on.')], {
      sections: nine,
      previousSummary: summarize(SESSION, { sections: nine }),
    })
    expect(again.match(/User: "Never use external dependencies/g)).toHaveLength(1)
    expect(sectionsOf(again)['Primary Request and Intent']).toContain(
      'User: "Never use external dependencies."',
    )
  })

  it('are filled by their titles, and omitted when they name nothing known', () => {
    const sections = sectionsOf(
      summarize(SESSION, {
        sections: ['Rules to follow', 'Favourite colours', '1. GOALS', 'Open tasks to do'],
      }),
    )

    expect(Object.keys(sections)).toEqual(['Rules to follow', '1. GOALS', 'Open tasks to do'])
    expect(sections['Rules to follow']?.[0]).toBe('User: "It must keep comments."')
    expect(sections['1. GOALS']?.[0]).toMatch(/^First request/)
    expect(sections['Open tasks to do']).toEqual(['write the README', 'publish the package'])
  })

  it('are the default ones when none is known', () => {
    expect(Object.keys(sectionsOf(summarize(SESSION, { sections: ['Favourite colours'] })))).toEqual(
      SUMMARY_SECTIONS,
    )
    expect(Object.keys(sectionsOf(summarize(SESSION, { sections: [] })))).toEqual(SUMMARY_SECTIONS)
  })
})

describe('merging an earlier summary', () => {
  const LATER: Row[] = [
    user('Also support arrays, please. Never change the public names.'),
    assistant('I added arrays.', call('d1', 'edit', { path: '/app/src/ini.ts', oldText: 'a', newText: 'b' })),
    result('d1', FILLER),
    assistant('Arrays are parsed now. Let me update the docs.'),
  ]
  const merged = sectionsOf(summarize(LATER, { previousSummary: summarize(SESSION) }))

  it('carries rules on word for word, each once', () => {
    expect(merged['Constraints and Established Rules']).toEqual([
      'User: "It must keep comments."',
      'User: "Never use external dependencies."',
      'User: "From now on, use tabs instead of spaces."',
      'User: "Never change the public names."',
    ])
  })

  it('keeps requests and the course of the task as history', () => {
    expect(merged['Primary Request and Intent']).toEqual([
      'First request: "Please build a parser for INI files in src/ini.ts. It must keep comments. Never use external dependencies."',
      'Newest request: "Also support arrays, please. Never change the public names."',
    ])
    expect(merged['Task Evolution']).toEqual([
      '"Please build a parser for INI files in src/ini.ts. It must keep comments. Never use external dependencies." → The parser works and all tests pass.',
      'Commit: Parse INI sections',
      '"Great. From now on, use tabs instead of spaces. Why is the README missing?" → The README should describe the comment syntax.',
      '"Also support arrays, please. Never change the public names." → Arrays are parsed now.',
      '→ I added arrays.',
    ])
  })

  it('adds up files', () => {
    expect(merged['Files and Code Sections']).toEqual([
      '`/app/src/ini.ts` — written, 2 edits — "Parser for INI files."',
      '· export function parseIni(text: string)',
      '`/app/src/lexer.ts` — 1 read',
    ])
  })

  it('replaces what was current, and marks what was open', () => {
    expect(merged['Current Work']?.join('\n')).not.toContain('README')
    expect(merged['Next Step']).toEqual(['Assistant: "Let me update the docs."'])
    expect(merged['Pending Tasks']).toEqual(['write the README (earlier)', 'publish the package (earlier)'])
  })

  it('drops open tasks that are known to be done', () => {
    const text = summarize(
      [
        user('go on'),
        ...did('e1', 'bash', { command: 'git commit -m "Write the README file"' }, FILLER),
        ...did('e2', 'write', { path: 'plan.md', content: '- [x] publish the package' }),
      ],
      { previousSummary: '## Pending Tasks\n- write the README file\n- publish the package\n- sleep' },
    )

    expect(sectionsOf(text)['Pending Tasks']).toEqual(['sleep (earlier)'])
  })

  it('keeps a rule of the third message over five rounds', () => {
    const rule = 'The importer must never write to the production database, not even in a dry run.'
    const round = (n: number): Row[] => [
      user(`Step ${n}: please add feature number ${n} and make sure that module_${n} keeps working.`),
      assistant(
        `Working on feature ${n}. We must not break module_${n}.`,
        call(`r${n}`, 'edit', { path: `/app/m${n}.ts` }),
      ),
      result(`r${n}`, FILLER),
      assistant(`Feature ${n} is implemented.`),
    ]
    let summary = summarize([user('Hello'), assistant('Hello, how can I help?'), user(rule), ...round(0)], {
      maxTokens: 700,
    })
    for (let n = 1; n <= 5; n++) {
      summary = summarize(
        [...Array(10).keys()].flatMap((k) => round(10 * n + k)),
        { maxTokens: 700, previousSummary: summary },
      )
    }

    expect(sectionsOf(summary)['Constraints and Established Rules']).toContain(`User: "${rule}"`)
    expect(estimateTokens(summary)).toBeLessThanOrEqual(700)
  })

  it('takes rules from a summary in another hand, and carries on what has no section', () => {
    const foreign =
      '# Checkpoint\n\n## Goal\nPort the engine to Rust.\n\n## Branch\n`port` in /engine\n\n## Testing\nYou must never mock the clock.\n\n## Key Decisions Made\n1. **No async** - it stays synchronous\n\n```rust\nfn main() {}\n\n# not a heading\n```\n'
    const sections = sectionsOf(summarize(SESSION, { previousSummary: foreign }))

    expect(sections.Earlier).toEqual(['Branch: `port` in /engine', 'Testing: You must never mock the clock.'])
    expect(sections['Primary Request and Intent']?.[0]).toBe('Port the engine to Rust.')
    expect(sections['Constraints and Established Rules']?.slice(0, 4)).toEqual([
      'Earlier: "You must never mock the clock."',
      'Earlier: "**No async** - it stays synchronous"',
      'Earlier: "fn main() {}',
      '  # not a heading"',
    ])
  })

  it('reads the numbered titles and the tags of Claude Code, and steps of another writer as tasks', () => {
    const foreign =
      '<summary>\n1. Primary Request and Intent:\n   Port the engine to Rust.\n\n2. Pending Tasks:\n   - measure the cold start\n   - write the notes\n\n## Next Steps\n- ship the beta\n</summary>\n'
    const sections = sectionsOf(summarize(SESSION, { previousSummary: foreign }))

    expect(sections.Earlier).toBeUndefined()
    expect(sections['Primary Request and Intent']?.[0]).toBe('Port the engine to Rust.')
    for (const task of ['measure the cold start', 'write the notes', 'ship the beta'])
      expect(sections['Pending Tasks']).toContain(`${task} (earlier)`)
  })

  it('carries on a summary without sections, and again', () => {
    const first = summarize(SESSION, { previousSummary: 'The user wanted a lexer. It was built in one day.' })
    expect(sectionsOf(first).Earlier).toEqual(['The user wanted a lexer. It was built in one day.'])

    const second = summarize(LATER, { previousSummary: first })
    expect(sectionsOf(second).Earlier).toEqual(['The user wanted a lexer. It was built in one day.'])
  })

  it('reads summaries among the messages, and omits their digest', () => {
    const row: Row = {
      kind: 'summary',
      role: 'user',
      content: `${summarize(SESSION)}\n\n## Tool Calls\n- bash x · ok`,
    }

    expect(sectionsOf(summarize([row, ...LATER]))['Constraints and Established Rules']).toEqual(
      merged['Constraints and Established Rules'],
    )
    expect(summarize([row, ...LATER])).not.toContain('Tool Calls')
  })
})

describe('little or nothing', () => {
  it('leaves out neither request nor a firm rule for other lines', () => {
    const rows = [
      user(
        'Find every invoice of the customer in Lübeck and compare it with the ledger of the year. Never send mail.',
      ),
      ...Array.from({ length: 12 }, (_, i) =>
        did(
          `c${i}`,
          'get_invoice',
          { invoice_id: `INV-${20_931 + i}` },
          `{"ledger_id":"L-77${i}","total":${i}4.9}`,
        ),
      ).flat(),
      assistant('INV-20931 and INV-20936 differ from L-770 and L-775.'),
      user('Always round to cents, and do not touch the ledger itself while you correct the two of them.'),
      ...did('d', 'get_ledger', { ledger_id: 'L-770' }, FILLER),
    ]
    for (let maxTokens = 45; maxTokens <= 400; maxTokens += 5) {
      const text = summarize(rows, { maxTokens })
      expect(text, `${maxTokens}`).toContain('First request: "Find')
      expect(text, `${maxTokens}`).toContain('Newest request: "Alw')
      expect(text, `${maxTokens}`).toMatch(/: "[^"\n]*Never/)
    }
  })

  it('begins no line about a file for which there is no room', () => {
    const path = '/home/anna/documents/ledgers-of-the-year/20260407-summary-of-all-invoices.md'
    const rows = [
      user('Please read the summary of all invoices from the seventh of April.'),
      ...did('r', 'read', { path }, 'InvoiceTotal LedgerEntry ledger.md invoice_total '.repeat(40)),
      assistant('InvoiceTotal and LedgerEntry are defined in ledger.md.'),
      user('What do you recall about this project of ours?'),
      ...did('g', 'glob', { pattern: '**/*.md' }, path),
    ]
    for (let maxTokens = 25; maxTokens <= 100; maxTokens += 5) {
      const text = summarize(rows, { maxTokens })
      expect(text, `${maxTokens}`).toContain('First request: "Please')
      expect(text, `${maxTokens}`).toContain('Newest request: "What')
    }
  })

  it('counts only the rules that it does not show', () => {
    const wishes = Array.from({ length: 40 }, (_, i) => `I prefer colour number ${i} for wall ${i}.`)
    const rows = [
      user('Paint the house.'),
      ...wishes.map(user),
      user('Begin now.'),
      ...did('c', 'bash', { command: 'x' }, FILLER),
    ]
    for (let maxTokens = 100; maxTokens <= 1_200; maxTokens += 50) {
      const text = summarize(rows, { maxTokens })
      const shown = text.split('\n').filter((line) => line.startsWith('- User: "')).length
      const counted = Number(/and (\d+) more in earlier messages/.exec(text)?.[1] ?? 0)
      expect(shown + counted, `${maxTokens}`).toBe(wishes.length)
    }
  })

  it('returns an earlier summary as it is when there is nothing new', () => {
    expect(summarize([], { previousSummary: 'Some text.\n' })).toBe('Some text.\n')
    expect(summarize([])).toBe('')
  })

  it('fits an earlier summary when there is nothing new', () => {
    const text = summarize([], { previousSummary: summarize(SESSION), maxTokens: 150 })

    expect(estimateTokens(text)).toBeLessThanOrEqual(150)
    expect(text).toContain('Never use external dependencies.')
  })

  it.each([2, 5, 20, 50, 100])('writes something in %i tokens', (maxTokens) => {
    const text = summarize(SESSION, { maxTokens })

    expect(text).not.toBe('')
    expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens)
  })

  it('writes nothing where no token is allowed', () => {
    expect(summarize(SESSION, { maxTokens: 0 })).toBe('')
    expect(summarize(SESSION, { maxTokens: 1 })).toBe('')
  })

  it('is shorter than what it replaces', () => {
    const talk = Array.from({ length: 20 }, (_, i) => [
      user(`Question number ${i}?`),
      assistant(`Answer number ${i}.`),
    ]).flat()
    const length = talk.reduce((sum, { content }) => sum + content.length, 0)

    expect(summarize(talk).length).toBeLessThan(length)
  })

  it('reports how much there was when none of it was text', () => {
    const image: Row = { kind: 'message', role: 'user', content: [{ type: 'image', image: 'data:' }] }

    expect(summarize([image, image])).toBe('2 messages without text.')
  })

  it.each([
    '<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>',
    '<local-command-caveat>The user ran commands.</local-command-caveat>',
    '<bash-input>ls</bash-input><bash-stdout>a.ts</bash-stdout>',
    '<task-notification>\n<task-id>a1</task-id>\n</task-notification>',
    '<system_notification>A task has finished.</system_notification>',
    '[Image: source: /tmp/gate.png]\n[Request interrupted by user]',
  ])('passes over what a client sends in the name of the user: %s', (notice) => {
    const rows = [notice, 'Repair the gate.', notice].flatMap((text) => [
      user(text),
      assistant('The gate moves.'),
    ])
    expect(summarize(rows).match(/\w+ request: .*/g)).toEqual(['First request: "Repair the gate."'])
  })

  it('takes the words after a command of the client as the request', () => {
    const command = '<command-name>/do</command-name>\n<command-args>Repair the gate.</command-args>'
    expect(summarize([user(command), assistant('The gate moves.')])).toContain(
      'First request: "Repair the gate."',
    )
  })

  it('passes markers over, and what programs put into messages', () => {
    const marker: Row = { kind: 'marker', role: 'user', content: '[12 messages were removed]' }
    const text = summarize([
      marker,
      user('<system-reminder>never say this</system-reminder>Sort the list.'),
      assistant('Sorted.'),
    ])

    expect(text).toContain('First request: "Sort the list."')
    expect(text).not.toMatch(/removed|never/)
  })

  it('stops on an abort', () => {
    const request = {
      sessionId: 's',
      messages: [],
      sections: [],
      maxTokens: 9,
      files: { read: [], modified: [] },
    }

    expect(() => extractiveSummarizer.summarize({ ...request, signal: AbortSignal.abort() })).toThrow()
  })
})

it('carries on an earlier summary with more facts and reads than a call can have arguments', () => {
  const previousSummary = `## Key Values\nFacts — ${'id: a1; '.repeat(200_000)}\nRead: ${'`a.ts`, '.repeat(200_000)}`
  expect(() => summarize([user('go')], { previousSummary })).not.toThrow()
})

it('a record that a tool returned is a row of fields under its call', () => {
  const order = '{"order_id":"W-7719","status":"delivered","item_id":"5521-K","total":84.4}'
  const text = summarize([
    user('Where is my order W-7719?'),
    ...did('1', 'get_order', { order_id: 'W-7719' }, order),
    ...did('2', 'read_notes', { page: 'one' }, FILLER),
    assistant('It was delivered.'),
  ])
  expect(text).toContain(
    'get_order `W-7719` (ok)\n- · order_id: W-7719, status: delivered, item_id: 5521-K, total: 84.4\n',
  )
})

it('files of earlier summaries make way for newer ones', () => {
  const edited = (generation: number) =>
    Array.from({ length: 12 }, (_, n) =>
      did(`${generation}-${n}`, 'edit_file', {
        path: `/app/part${generation}/file${n}.ts`,
        old_string: 'a',
        new_string: 'b',
      }),
    ).flat()
  let summary = ''
  for (let generation = 1; generation <= 12; generation++) {
    const rows = [
      user(`Please change part${generation}.`),
      ...edited(generation),
      assistant('All are changed.'),
    ]
    summary = summarize(rows, { previousSummary: summary, maxTokens: 700 })
  }
  const shown = (generation: number) => summary.split(`/part${generation}/file`).length - 1
  expect(shown(12)).toBeGreaterThanOrEqual(12)
  expect(shown(11)).toBeGreaterThan(shown(6))
  expect(shown(6)).toBeGreaterThanOrEqual(shown(1))
})

describe('files', () => {
  it('that were removed or moved are told so, and are no longer required', () => {
    const text = summarize([
      user('tidy up'),
      ...did('c1', 'edit', { path: '/app/old.ts', oldText: 'a', newText: 'b' }),
      ...did('c2', 'write', { path: '/app/draft.ts', content: `${FILLER}export const draft = 1` }, FILLER),
      ...did('c3', 'write', { path: '/app/tmp.ts', content: 'export const tmp = 1' }, FILLER),
      ...did('c4', 'bash', { command: 'cd /app && git rm -q old.ts && rm tmp.ts && mv draft.ts final.ts' }),
      assistant('Only final.ts is left.'),
    ])
    const { 'Files and Code Sections': files = [], 'Required Files': required } = sectionsOf(text)
    expect(
      files.filter((line) => !line.startsWith('·')).map((line) => line.split(' — ', 2).join(' — ')),
    ).toEqual(['`/app/old.ts` — 1 edit, removed', '`final.ts` — written'])
    expect(required).toEqual(['`final.ts`'])
  })

  it('are what a chat shows as code under their names', () => {
    const code = 'export function slugOf(title: string) {\n  return title.toLowerCase()\n}'
    const text = summarize([
      user(`please write it ${FILLER} ${FILLER} ${FILLER}`),
      assistant(`Here it is.\n\n**app/(shop)/[...slug]/page.tsx**\n\n\`\`\`ts\n${code}\n\`\`\``),
    ])
    expect(sectionsOf(text)['Files and Code Sections']).toEqual([
      '`app/(shop)/[...slug]/page.tsx` — mentioned',
      '· export function slugOf(title: string)',
    ])
  })
})

it('rows of a result that the reply names are quoted with their labels', () => {
  const rows = Array.from({ length: 30 }, (_, i) => `| plan-${i} | ${100 + i} | ${i}.5 |`)
  const text = summarize([
    user('which plan is the best?'),
    ...did('c1', 'query', { sql: 'select 1' }, `| plan | price | score |\n|---|---|---|\n${rows.join('\n')}`),
    assistant('I would take plan-17.'),
  ])
  expect(text).toContain('· plan: plan-17, price: 117, score: 17.5')
})

it('rows of inner objects name the item that they belong to', () => {
  const flights = Array.from({ length: 12 }, (_, i) => ({
    flight: `HAT00${i}`,
    prices: { basic_economy: 54 + i, economy: 120 + i, note: 'one bag of 8 kg, no changes, no refunds' },
  }))
  const text = summarize([
    user('find a flight'),
    ...did('c1', 'search', { from: 'JFK' }, JSON.stringify(flights)),
    assistant('HAT002 costs 56 in basic economy.'),
  ])
  expect(text).toContain(
    '· flight: HAT002, prices: basic_economy: 56, economy: 122, note: one bag of 8 kg, no changes, no refunds',
  )
})

it('an error is overcome by the same command with other options', () => {
  const text = summarize([
    user(`measure it ${FILLER}`),
    ...did('c1', 'bash', { command: 'npx tool build app' }, `${FILLER}\nError: build failed\nExit code: 1`),
    ...did('c3', 'bash', { command: 'npx --yes tool build app --force' }, 'built'),
    assistant('It works now.'),
  ])
  const problems = sectionsOf(text)['Problem Solving'] ?? []
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(', a similar command succeeded later: ')
})
