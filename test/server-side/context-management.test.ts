import { describe, expect, it } from 'vitest'
import {
  COMPACT_TRIGGER_MINIMUM,
  contextManagement,
  contextManagementBetas,
} from '../../src/adapters/anthropic/index.ts'
import { isUndertextError, openStore } from '../../src/index.ts'

/** The form of seed 000. */
const SEED = { edits: [{ type: 'compact', strategy: 'compact_20260112' }] } as const

describe('contextManagement', () => {
  it('makes the documented form of the seed [S0-79 C-26]', () => {
    expect(contextManagement(SEED)).toEqual({ edits: [{ type: 'compact_20260112' }] })
    expect(contextManagementBetas(SEED)).toEqual(['compact-2026-01-12'])
  })

  it('is plain data that a session keeps as it is [S0-78 S0-79]', async () => {
    const store = await openStore(':memory:')
    for (const value of [SEED, contextManagement(SEED)]) {
      await store.sessions.create({
        id: JSON.stringify(value),
        metadata: { context_management: value as never },
      })
      const { metadata } = await store.sessions.get(JSON.stringify(value))
      expect(metadata).toEqual({ context_management: value })
    }
    await store.close()
  })

  it('has all of what Anthropic documents [S0-U20]', () => {
    const edits = [
      { type: 'compact', trigger: 50_000, pauseAfterCompaction: true, instructions: 'Keep names.' },
      {
        type: 'clear_tool_uses',
        trigger: 1,
        keep: 0,
        clearAtLeast: 2,
        excludeTools: ['a'],
        clearToolInputs: false,
      },
      { type: 'clear_thinking', keep: 2 },
      { type: 'clear_thinking', keep: 'all' },
      { type: 'clear_thinking' },
    ] as const
    expect(contextManagement({ edits })).toEqual({
      edits: [
        {
          type: 'compact_20260112',
          trigger: { type: 'input_tokens', value: 50_000 },
          pause_after_compaction: true,
          instructions: 'Keep names.',
        },
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 1 },
          keep: { type: 'tool_uses', value: 0 },
          clear_at_least: { type: 'input_tokens', value: 2 },
          exclude_tools: ['a'],
          clear_tool_inputs: false,
        },
        { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 2 } },
        { type: 'clear_thinking_20251015', keep: 'all' },
        { type: 'clear_thinking_20251015' },
      ],
    })
    expect(contextManagementBetas({ edits })).toEqual(['compact-2026-01-12', 'context-management-2025-06-27'])
  })

  it('passes on what it does not know, in its place', () => {
    const edits = [
      { type: 'compact_20270101', anything: { at: ['all'] } },
      { type: 'clear_thinking_20251015' },
    ]
    expect(contextManagement({ edits })).toEqual({ edits })
    expect(contextManagementBetas({ edits: [] })).toEqual([])
    expect(contextManagementBetas(undefined as never)).toEqual([])
  })

  it('speaks to OpenAI in a list', () => {
    expect(contextManagement({ edits: [{ type: 'compact', trigger: 1_000 }] }, 'OpenAI')).toEqual([
      { type: 'compaction', compact_threshold: 1_000 },
    ])
    expect(contextManagement({ edits: [{ type: 'compact' }] }, 'openai')).toEqual([{ type: 'compaction' }])
  })

  it.each<[string, unknown, string?]>([
    ['nothing', undefined],
    ['edits that are no list', { edits: {} }],
    ['an edit without a type', { edits: [{ trigger: 1 }] }],
    ['an edit that is no JSON', { edits: [{ type: 'x', of: undefined, by: () => 1 }] }],
    ['a misspelled option', { edits: [{ type: 'compact', triger: 60_000 }] }],
    ['a trigger that is too low', { edits: [{ type: 'compact', trigger: COMPACT_TRIGGER_MINIMUM - 1 }] }],
    ['another provider', SEED, 'mistral'],
    ['instructions for OpenAI', { edits: [{ type: 'compact', instructions: 'x' }] }, 'openai'],
    ['clearing at OpenAI', { edits: [{ type: 'clear_thinking' }] }, 'openai'],
  ])('refuses %s', (_name, given, provider) => {
    let error: unknown
    try {
      contextManagement(given as never, provider)
    } catch (thrown) {
      error = thrown
    }
    expect(isUndertextError(error, 'INVALID_INPUT')).toBe(true)
  })
})
