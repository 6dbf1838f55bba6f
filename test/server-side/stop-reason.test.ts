import { describe, expect, it } from 'vitest'
import { nextStep, STOP_REASONS, stopReasonOf } from '../../src/core/messages/stop-reason.ts'
import type { StopReason } from '../../src/index.ts'

describe('a stop reason', () => {
  it('of a compaction is a value of its own [S0-81]', () => {
    expect(STOP_REASONS).toContain('compaction')
    for (const spelling of ['compaction', 'Compaction']) expect(stopReasonOf(spelling)).toBe('compaction')
  })

  it('lets the loop continue after a compaction, and ends it with a final answer [S0-82 S0-84]', () => {
    expect(nextStep('compaction')).toBe('continue')
    expect(nextStep('pause_turn')).toBe('continue')
    for (const tools of ['tool_use', 'tool_calls', 'tool-calls', 'ToolUse', 'function_call'])
      expect(nextStep(tools)).toBe('tools')
    for (const final of [
      'end_turn',
      'stop',
      'max_tokens',
      'length',
      'refusal',
      'stop_sequence',
      null,
      undefined,
      '',
    ])
      expect(nextStep(final)).toBe('final')
  })

  it.each<[string, StopReason]>([
    ['end_turn', 'end'],
    ['STOP', 'end'],
    ['stop_sequence', 'stop-sequence'],
    ['MAX_TOKENS', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content-filter', 'refusal'],
    ['guardrail_intervened', 'refusal'],
    ['error', 'other'],
    ['constructor', 'other'],
    ['__proto__', 'other'],
  ])('%s is %s', (spelling, reason) => {
    expect(stopReasonOf(spelling)).toBe(reason)
  })

  it('that is no text is refused', () => {
    expect(() => nextStep(5 as never)).toThrow(/must be a string/)
  })
})
