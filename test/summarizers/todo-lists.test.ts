import { describe, expect, it } from 'vitest'
import { assistant, call, did, failure, type Row, sectionsOf, summarize, user } from './support.ts'

const FILLER = 'The build finished and nothing else was printed. '.repeat(60)

function pending(rows: readonly Row[], previousSummary?: string): string[] | undefined {
  const messages = [user('go on'), assistant(FILLER), ...rows]
  return sectionsOf(summarize(messages, { ...(previousSummary !== undefined && { previousSummary }) }))[
    'Pending Tasks'
  ]
}

describe('lists of tasks', () => {
  it.each<[string, string, Parameters<typeof did>[2]]>([
    [
      'todos',
      'write_todos',
      {
        todos: [
          { description: 'lex', status: 'completed' },
          { description: 'parse', status: 'pending' },
        ],
      },
    ],
    [
      'a plan',
      'update_plan',
      {
        plan: [
          { step: 'lex', status: 'completed' },
          { step: 'parse', status: 'pending' },
        ],
      },
    ],
    [
      'a list with ids',
      'task_tracker',
      {
        command: 'plan',
        task_list: [
          { id: '1', title: 'lex', status: 'done' },
          { id: '2', title: 'parse', status: 'todo' },
        ],
      },
    ],
    [
      'a tool of another name',
      'progress',
      {
        items: [
          { title: 'lex', status: 'completed' },
          { title: 'parse', status: 'not-started' },
        ],
      },
    ],
    ['lines', 'update_todo_list', { todos: '[x] lex\n[ ] parse' }],
    ['a field of another tool', 'read_file', { path: 'a.ts', task_progress: '- [x] lex\n- [ ] parse' }],
    [
      'JSON in a text',
      'todo_write',
      { todos: '[{"content":"lex","status":"completed"},{"content":"parse","status":"pending"}]' },
    ],
    [
      'a program',
      'exec',
      {
        input:
          'await tools.update_plan({ plan: [{ step: "lex", status: "completed" }, { step: "parse", status: "pending" }] })',
      },
    ],
  ])('are read from %s', (_, name, input) => {
    expect(pending(did('c1', name, input))).toEqual(['parse'])
  })

  it('are no lists of other things with a state', () => {
    const orders = {
      orders: [
        { title: 'kettle', status: 'shipped' },
        { title: 'toaster', status: 'returned' },
      ],
    }

    expect(pending(did('c1', 'show_orders', orders))).toBeUndefined()
  })

  it('are changed by the ids in results', () => {
    const rows = [
      ...did('c1', 'TaskCreate', { subject: 'lex' }, 'Task #1 created successfully: lex'),
      ...did('c2', 'TaskCreate', { subject: 'parse' }, 'Task #2 created successfully: parse'),
      ...did('c3', 'create_task', { title: 'print' }, '{"task":{"id":"7","title":"print"}}'),
      ...did('c4', 'TaskUpdate', { taskId: '1', status: 'completed' }),
      ...did('c5', 'TaskUpdate', { taskId: '2', status: 'in_progress' }),
    ]

    expect(pending(rows)).toEqual(['#2 parse (in progress)', '#7 print'])
  })

  it('keep an item whose change failed', () => {
    const rows = [
      ...did('c1', 'TaskCreate', { subject: 'lex' }, 'Task #1 created successfully: lex'),
      assistant('', call('c2', 'TaskUpdate', { taskId: '1', status: 'completed' })),
      failure('c2', 'Task not found'),
    ]

    expect(pending(rows)).toEqual(['#1 lex'])
  })

  it('are changed by the ids of an earlier summary', () => {
    const before = '## Pending Tasks\n- #1 lex\n- #2 parse'

    expect(pending(did('c1', 'TaskUpdate', { taskId: '1', status: 'completed' }), before)).toEqual([
      '#2 parse (earlier)',
    ])
  })

  it('are replaced by what a tool shows', () => {
    const rows = [
      ...did('c1', 'TaskCreate', { subject: 'lex' }, 'Task #1 created successfully: lex'),
      ...did(
        'c2',
        'TaskList',
        {},
        '#1 [completed] lex\n#2 [in_progress] parse\n#3 [pending] print [blocked by #2]',
      ),
    ]

    expect(pending(rows)).toEqual(['parse (in progress)', 'print [blocked by #2]'])
  })

  it('replace those of an earlier summary and of earlier texts', () => {
    const todos = { todos: [{ content: 'print', status: 'pending' }] }
    const rows = [assistant('Remaining:\n- lex the input'), ...did('c1', 'TodoWrite', todos)]

    expect(pending(rows, '## Pending Tasks\n- parse the input')).toEqual(['print'])
  })

  it('in a reply replace those of earlier replies', () => {
    const rows = [
      assistant('- [x] lex\n- [ ] parse\n- [ ] print'),
      assistant('- [x] lex\n- [ ] parse and print'),
    ]

    expect(pending(rows)).toEqual(['parse and print'])
  })
})

describe('the branch', () => {
  const branch = (...commands: [string, string][]): string | undefined =>
    sectionsOf(
      summarize([
        user('go on'),
        assistant(FILLER),
        ...commands.flatMap(([command, output], i) => did(`c${i}`, 'bash', { command }, output)),
      ]),
    )['Key Technical Concepts']?.find((line) => line.startsWith('Branch: '))

  it.each<[string, string, string]>([
    ['git checkout -b feature/a', '', 'feature/a'],
    ['git switch main && git pull', 'Already up to date.', 'main'],
    ['git checkout src/main.ts', 'Updated 1 path from the index', 'before'],
    ['git worktree add -b fix-1 ../fix-1 main', "Preparing worktree (new branch 'fix-1')", 'fix-1'],
    ['gh pr merge 12 --delete-branch', '✓ Deleted branch fix-1 and switched to branch main', 'main'],
    ['git commit -m "x"', '[feature/b 1a2b3c4] x\n 1 file changed', 'feature/b'],
    ['git checkout next; git checkout -', "Switched to branch 'next'\nSwitched to branch 'before'", 'before'],
  ])('after %j is the last one', (command, output, expected) => {
    expect(branch(['git checkout -b before', ''], [command, output])).toBe(`Branch: \`${expected}\``)
  })
})

describe('a problem', () => {
  const problems = (...rows: Row[]): string =>
    sectionsOf(summarize([user('Build the gate.'), assistant(FILLER), ...rows]))['Problem Solving']?.join(
      '\n',
    ) ?? ''
  const failed = (id: string, name: string, input: Parameters<typeof did>[2]): Row[] => [
    assistant('', call(id, name, input)),
    failure(id, 'Error: no such gate'),
  ]

  it('is solved by the same command in another one', () => {
    expect(
      problems(
        ...failed('c1', 'bash', { command: 'npm run lint' }),
        ...did('c2', 'bash', { command: 'npm run fmt && npm run lint' }),
      ),
    ).toContain('failed, later succeeded')
  })

  it('is solved by a change of the same file with another tool', () => {
    expect(
      problems(
        ...failed('c1', 'edit', { path: 'a.ts', oldText: 'x', newText: 'y' }),
        ...did('c2', 'write', { path: 'a.ts', content: 'y' }),
      ),
    ).toContain('failed, later succeeded')
  })

  it('of the user is solved when the user says that it works', () => {
    const told = [user('The gate is broken.'), assistant('The hinge of the gate was loose.')]

    expect(problems(...told, user('Great, it works now. Paint it.'))).toContain(
      'User: "The gate is broken." (solved)',
    )
    expect(problems(...told, user('It does not work yet.'))).not.toContain('solved')
  })
})
