import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages/json.ts'
import { type Message, partsOf } from '../../src/core/messages/message.ts'
import { TextAgentReader } from '../../src/core/messages/text-agent.ts'

const user = (content: string, metadata?: JsonObject): Message => ({
  role: 'user',
  content,
  ...(metadata && { metadata }),
})
const assistant = (content: string): Message => ({ role: 'assistant', content })

/** What the reader makes of messages: texts as they are, calls with their results as `name input -> result`. */
function readAll(messages: readonly Message[]): string[] {
  const reader = new TextAgentReader()
  return messages.flatMap((message) => {
    const read = reader.read(message)
    const lines: string[] = []
    for (const part of partsOf(read)) {
      if (part.type === 'text') lines.push(`${read.role}: ${part.text}`)
      if (part.type === 'tool-call') lines.push(`${part.toolName} ${JSON.stringify(part.input)}`)
      if (part.type === 'tool-result' && part.output.type === 'text')
        lines[lines.length - 1] += ` -> ${part.output.value}`
    }
    return lines
  })
}

describe('calls that an export wrote into a text', () => {
  it('are read with their arguments and results, and leave the text', () => {
    const text = [
      'I look at the page.',
      '<tool-use data-tool-type="read" data-tool-name="read_file_v2">',
      '<details><summary>Tool use: **read_file_v2** • Read file: app/(shop)/[...slug]/page.tsx</summary>',
      '',
      '</details>',
      '</tool-use>',
      '<details>',
      '<summary>Tool use: **grep**</summary>',
      '',
      'Parameters:',
      '',
      '```json',
      '{ "pattern": "slug" }',
      '```',
      'Result:',
      '',
      '```json',
      '{ "total": 2 }',
      '```',
      '</details>',
      'Tool: `run_command` • Run command: npm test',
      '```bash',
      'npm test',
      '```',
      'It works.',
    ].join('\n')
    expect(readAll([user('why?'), assistant(text)])).toEqual([
      'user: why?',
      'assistant: I look at the page.\n\nIt works.',
      'read_file_v2 {"path":"app/(shop)/[...slug]/page.tsx"} -> ',
      'grep {"pattern":"slug"} -> { "total": 2 }',
      'run_command {"command":"npm test"} -> ',
    ])
  })

  it('replace the native call of the same tool', () => {
    const reader = new TextAgentReader()
    const read = reader.read({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Tool use: **edit_file** • Edit file: a.ts' },
        { type: 'tool-call', toolCallId: '1', toolName: 'edit_file', input: {} },
      ],
    })
    expect(partsOf(read).flatMap((part) => (part.type === 'tool-call' ? [part.input] : []))).toEqual([
      { path: 'a.ts' },
    ])
  })

  it('are none in prose about a tool', () => {
    const text = '- Tool: **ESLint** finds unused names.'
    expect(readAll([assistant(text)])).toEqual([`assistant: ${text}`])
  })
})

describe('an agent without native tool calls', () => {
  it('ReAct: the observation is the result of the action', () => {
    expect(
      readAll([
        user('Who wrote Dune?'),
        assistant('Thought: I should search.\nAction: Search[Dune]'),
        user('Observation: Dune is a novel by Frank Herbert.'),
        assistant('Thought: done\nAction: Finish\nAction Input: {"answer": "Frank Herbert"}'),
        user('Observation: correct'),
      ]),
    ).toEqual([
      'user: Who wrote Dune?',
      'assistant: Thought: I should search.\nAction: Search[Dune]',
      'Search {"input":"Dune"} -> Dune is a novel by Frank Herbert.',
      'assistant: Thought: done\nAction: Finish\nAction Input: {"answer": "Frank Herbert"}',
      'Finish {"answer":"Frank Herbert"} -> correct',
    ])
  })

  it('SWE-agent: commands are in a fence, and its editor works on the open file', () => {
    const prompt = (file: string) => `\n(Open file: ${file})\n(Current directory: /repo)\nbash-$`
    const open = `[File: /repo/a.py (1 lines total)]\n1:x = 1${prompt('/repo/a.py')}`
    const edited = `[File: /repo/a.py (1 lines total)]\n1:x = 2${prompt('/repo/a.py')}`
    expect(
      readAll([
        user(`Fix the issue.${prompt('n/a')}`),
        assistant('I list the files.\n```\nls\n```'),
        user(`a.py${prompt('n/a')}`),
        assistant('I open it.\n```\nopen a.py\n```'),
        user(open),
        assistant('I change it.\n```\nedit 1:1\nx = 2\nend_of_edit\n```'),
        user(edited),
      ]).filter((line) => !line.startsWith('assistant')),
    ).toEqual([
      `user: Fix the issue.${prompt('n/a')}`,
      `bash {"command":"ls"} -> a.py${prompt('n/a')}`,
      `open_file {"path":"a.py"} -> ${open}`,
      `edit_file {"path":"/repo/a.py","new_string":"edit 1:1\\nx = 2\\nend_of_edit"} -> ${edited}`,
    ])
  })

  it('Cline: an element names the tool and its arguments, and its markup is no text of the assistant', () => {
    expect(
      readAll([
        user('<task>Fix the bug</task>'),
        assistant('I read it.\n\n<read_file>\n<path>src/a.ts</path>\n</read_file>'),
        user("[read_file for 'src/a.ts'] Result:\nexport const a = 1"),
      ]),
    ).toEqual([
      'user: <task>Fix the bug</task>',
      'assistant: I read it.',
      'read_file {"path":"src/a.ts"} -> export const a = 1',
    ])
  })

  it('Cline with native calls: texts are paired with the calls that they name, and the rest of the message is kept', () => {
    const reader = new TextAgentReader()
    const part = (toolCallId: string, toolName: string) =>
      ({ type: 'tool-call', toolCallId, toolName, input: {} }) as const
    reader.read({ role: 'assistant', content: [part('1', 'read_file'), part('2', 'execute_command')] })
    const texts = [
      "[execute_command for 'cd a\nnpm test'] Result:\nCommand failed with exit code 1.\n<environment_details>\nError: x\n</environment_details>",
      "[read_file for 'a.ts'] Result:\nlet a = 1",
      'Please be careful.',
    ]
    const content = texts.map((text) => ({ type: 'text', text }) as const)
    const { role, content: read } = reader.read({ role: 'user', content })
    const output = (value: string) => ({ type: 'text', value }) as const
    expect([role, read]).toEqual([
      'user',
      [
        {
          type: 'tool-result',
          toolCallId: '2',
          toolName: 'execute_command',
          output: output('Command failed with exit code 1.'),
        },
        { type: 'tool-result', toolCallId: '1', toolName: 'read_file', output: output('let a = 1') },
        { type: 'text', text: 'Please be careful.' },
      ],
    ])
  })

  it.each([
    ['<execute_bash>\nmake\n</execute_bash>', 'bash', { command: 'make' }],
    [
      '<function=execute_bash>\n<parameter=command>make</parameter>\n</function>',
      'bash',
      { command: 'make' },
    ],
    [
      '<function_calls><invoke name="Bash"><parameter name="command">make</parameter></invoke></function_calls>',
      'Bash',
      { command: 'make' },
    ],
    ['<tool_call>\n{"name": "run", "arguments": {"cmd": "make"}}\n</tool_call>', 'run', { cmd: 'make' }],
  ])('reads the command of %s', (text, toolName, input) => {
    const reader = new TextAgentReader()
    reader.read(user('Build it.'))
    expect(partsOf(reader.read(assistant(`I build.\n${text}`)))).toEqual([{ type: 'text', text: 'I build.' }])
    expect(reader.read(user('OBSERVATION:\nbuilt'))).toEqual({
      role: 'tool',
      content: [
        { type: 'tool-call', toolCallId: 'text-1', toolName, input },
        { type: 'tool-result', toolCallId: 'text-1', toolName, output: { type: 'text', value: 'built' } },
      ],
    })
  })

  it('aider: blocks of search and replacement are edits, and console lines their results', () => {
    const block = (path: string, from: string, to: string) =>
      `${path}\n\`\`\`python\n<<<<<<< SEARCH\n${from}\n=======\n${to}\n>>>>>>> REPLACE\n\`\`\``
    const printed = 'Tokens: 1.2k sent, 300 received.\nApplied edit to a.py\nb.py failed to match!'
    expect(
      readAll([
        user('Rename x to y.'),
        assistant(`I rename it.\n\n${block('a.py', 'x = 1', 'y = 1')}\n\n${block('b.py', 'x', 'y')}`),
        user(printed, { openai: { name: 'aider_console' } }),
        user('^C again to exit', { name: 'aider_console' }),
      ]).slice(2),
    ).toEqual([
      'edit_file {"path":"a.py","old_string":"x = 1\\n","new_string":"y = 1\\n"} -> Applied edit to a.py',
      'edit_file {"path":"b.py","old_string":"x\\n","new_string":"y\\n"} -> b.py failed to match!',
      `console {} -> ${printed}`,
      'console {} -> ^C again to exit',
    ])
  })

  it('code that is only shown is the call of a text that is marked as its output', () => {
    const code = `We compute it.\n\`\`\`python\nprint(6 * 7)\n\`\`\`\n${'Then the result is checked. '.repeat(10)}`
    const printed = 'exitcode: 0 (execution succeeded)\nCode output: 42'
    expect(readAll([user('Compute.'), assistant(code), user(printed)]).at(-1)).toBe(
      `python {"code":"print(6 * 7)"} -> ${printed}`,
    )
    expect(readAll([user('Compute.'), assistant(code), user('42')]).at(-1)).toBe('user: 42')
  })

  it('an observation with a screenshot is one', () => {
    const reader = new TextAgentReader()
    reader.read(assistant('Thought: I open it.\nAction: Click [3]'))
    const read = reader.read({
      role: 'user',
      content: [
        { type: 'text', text: 'Observation: the page' },
        { type: 'image', image: 'aGk=' },
      ],
    })
    expect(partsOf(read).at(-1)).toMatchObject({
      output: { type: 'text', value: 'the page\n[image]' },
      toolName: 'Click',
    })
  })
})

describe('a person', () => {
  it.each([
    ['No, use python instead of bash for this.'],
    ['Thanks, that worked. Now add a test for the parser.'],
    ['不要用这个命令，改用 make。'],
    ['Why does it print an error?'],
  ])('is read as a person after a suggested command: %s', (text) => {
    const messages = [user('How do I build it?'), assistant('Run this:\n```bash\nmake\n```'), user(text)]
    expect(readAll(messages).at(-1)).toBe(`user: ${text}`)
  })

  it('that pastes output after a suggested command in a chat is not an observation', () => {
    const pasted = user('make: *** No rule to make target.  Stop.')
    const reader = new TextAgentReader()
    reader.read(user('How do I build it?'))
    reader.read(assistant('Run this:\n```bash\nmake\n```'))
    expect(reader.read(pasted)).toBe(pasted)
  })

  it.each([
    ['Thought: I search.\nAction: search\nAction Input: weather', 'No, use the database instead.'],
    ['Thought: I search.\nAction: search\nAction Input: weather', 'Can you also search for trains?'],
    ['Thought: I search.\nAction: search\nAction Input: 天气', '请不要再搜索了。'],
    ['Thought: It is sunny.\nAction: Final Answer\nAction Input: sunny', 'And tomorrow it rains.'],
    ['Thought: I must ask.\nAction: ask_user[Which city?]', 'Paris, in the north of France.'],
    ['Action: restart the server', 'It still fails.'],
    ['{"name": "Ann", "age": 7}', 'Ann: 8, Bob: 9'],
    ['Write this:\n```json\n{"scripts": {"build": "make"}}\n```', 'npm ERR! missing script: start'],
    ['Run it:\n```python\nprint(1)\n```', 'Output:\nTraceback (most recent call last)'],
    ['Run it:\n```bash\nmake\n```', 'Output:\nmake: *** No rule'],
    ['It is bold: <code>b</code>', 'x = <b>1</b>'],
  ])('is read as a person after %j: %s', (said, text) => {
    expect(readAll([user('Help me.'), assistant(said), user(text)]).at(-1)).toBe(`user: ${text}`)
  })

  it('may write the task in the form of an observation before the assistant speaks', () => {
    const task = user('Observation: the build is slow.')
    expect(new TextAgentReader().read(task)).toBe(task)
  })
})

it('messages with native calls, of systems and tools, and with images are returned as they are', () => {
  const messages: Message[] = [
    { role: 'system', content: 'Observation: none' },
    user('Go.'),
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'ls', input: {} }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: '1', output: { type: 'text', value: 'a' } }],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Observation: see' },
        { type: 'image', image: 'aGk=' },
      ],
    },
  ]
  const reader = new TextAgentReader()
  for (const message of messages) expect(reader.read(message)).toBe(message)
})

it('any text is read, and no text of a user is lost', () => {
  const text = fc.oneof(
    fc.string(),
    fc
      .array(
        fc.constantFrom(
          '<read_file>',
          '<path>',
          '</path>',
          '</read_file>',
          '```\n',
          'Action: x\n',
          'a.py\n',
          'SEARCH',
        ),
      )
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (turns) => {
      const reader = new TextAgentReader()
      for (const [said, printed] of turns) {
        reader.read(assistant(said))
        const parts = partsOf(reader.read(user(printed)))
        const shown = parts.map((part) =>
          part.type === 'text' ? part.text : part.type === 'tool-result' ? String(part.output.value) : '',
        )
        expect(shown.join('').length).toBeGreaterThanOrEqual(
          printed.replace(/^\s*observation:\s*/i, '').length,
        )
      }
    }),
  )
})
