import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REASONING_BINDINGS, reasoningBinding } from '../../src/core/tokens/reasoning-bindings.ts'

describe('what reasoning is bound to', () => {
  it.each([
    // The models that the page of the check names, on each host.
    ['anthropic', 'claude-fable-5-1'],
    ['anthropic', 'claude-fable-5-2'],
    ['anthropic', 'claude-mythos-5-1'],
    ['anthropic', 'claude-mythos-5-2'],
    ['anthropic', 'claude-opus-5-5'],
    ['anthropic', 'claude-sonnet-5-5'],
    ['anthropic', 'claude-haiku-5-5'],
    ['anthropic', 'claude-opus-5-5-20260922'],
    ['anthropic.messages', 'claude-opus-5-5'],
    ['bedrock', 'us.anthropic.claude-fable-5-1-v1:0'],
    ['bedrock', 'global.anthropic.claude-sonnet-5-5'],
    ['vertex', 'claude-haiku-5-5@20261020'],
    ['azure', 'claude-opus-5-5'],
    ['openrouter', 'anthropic/claude-opus-5.5'],
    ['litellm', 'bedrock/eu.anthropic.claude-opus-5-5-v2:0'],
    [undefined, 'Claude-Fable-5-1'],
    // The check stays in later versions, and in families that do not exist yet.
    ['anthropic', 'claude-opus-5-6'],
    ['anthropic', 'claude-opus-6'],
    ['anthropic', 'claude-saga-7-20290101'],
  ])('%s %s: to its prefix', (provider, model) => {
    expect(reasoningBinding(provider, model)).toMatchObject({ kind: 'prefix', neededInLoop: false })
  })

  it.each([
    ['anthropic', 'claude-fable-5'],
    ['anthropic', 'claude-fable-5-20260514'],
    ['anthropic', 'claude-opus-5'],
    ['anthropic', 'claude-opus-5-20260901'],
    ['anthropic', 'claude-opus-5-4'],
    ['anthropic', 'claude-mythos-preview'],
    ['bedrock', 'us.anthropic.claude-opus-4-6-v1'],
    ['vertex', 'claude-sonnet-4-5@20250929'],
    ['anthropic', 'claude-3-7-sonnet-20250219'],
  ])('%s %s: to nothing but its signature', (provider, model) => {
    expect(reasoningBinding(provider, model)).toMatchObject({ kind: 'signature', neededInLoop: true })
  })

  it.each([
    ['google-ai', 'gemini-3-pro-preview', true],
    ['vertex', 'gemini-3.1-flash', true],
    ['google-ai', 'gemini-4-argon', true],
    ['google-ai', 'gemini-3-pro-image', false],
    ['google-ai', 'gemini-2.5-flash', false],
    ['gemini', undefined, false],
  ])('%s %s: to its part, needed in a tool loop: %s', (provider, model, neededInLoop) => {
    expect(reasoningBinding(provider, model)).toMatchObject({ kind: 'part', neededInLoop })
  })

  it.each([
    ['openai', 'gpt-5.4'],
    ['openai', 'o3-mini'],
    ['azure', 'gpt-6'],
    ['openrouter', 'openai/o4-mini'],
    ['openai.responses', undefined],
    ['azure', undefined],
  ])('%s %s: to its item', (provider, model) => {
    expect(reasoningBinding(provider, model)).toMatchObject({ kind: 'item', neededInLoop: true })
  })

  it.each([
    ['openai', 'gpt-4o'],
    ['openai', 'gpt-4.1-mini'],
    ['ollama', 'llama3'],
    ['mistral', 'magistral-medium'],
    // A host of several families says nothing about an unnamed model.
    ['bedrock', undefined],
    ['vertex', undefined],
    [undefined, undefined],
  ])('%s %s: to nothing', (provider, model) => {
    expect(reasoningBinding(provider, model).kind).toBe('none')
  })

  it('docs/validity.md has the same models, in order, with the same sources', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/validity.md'), 'utf8')
    const [, section] = page.split('## Reasoning bound to its prefix\n')
    const rows = section!
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2)
    expect(rows).toHaveLength(REASONING_BINDINGS.length)
    for (const [at, { models, source }] of REASONING_BINDINGS.entries()) {
      expect(rows[at]!.startsWith(`| ${models}`), models).toBe(true)
      expect(rows[at]).toContain(`](${source})`)
    }
  })
})
