import { describe, expect, it } from 'vitest'
import { type ContextSection, PersistentContext } from '../../src/compat/index.ts'
import { checkContextBudget } from '../../src/core/tokens/index.ts'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { readGolden } from '../support/golden.ts'

type Case = {
  readonly id: string
  readonly name: string
  readonly input: { readonly sections: readonly ContextSection[] }
  readonly expected: { readonly rendered: string }
}

describe('neuron-persistent-context', () => {
  const { cases } = readGolden<{ cases: Case[] }>('neuron-persistent-context')

  it.each(cases)('$id $name', ({ input, expected }) => {
    const context = new PersistentContext()
    for (const section of input.sections) context.addSection(section)
    expect(context.render()).toBe(expected.rendered)
    expect(PersistentContext.from(JSON.parse(JSON.stringify(context))).render()).toBe(expected.rendered)
  })
})

describe('PersistentContext', () => {
  const role = { label: 'Role', content: 'You are a careful engineer.', priority: 0 }
  const rules = { label: 'Rules', content: 'Tests first.', priority: 10 }

  it('is kept with a session, and no compaction touches it', async () => {
    const context = new PersistentContext().addSection(rules).addSection(role)
    const before = context.render()
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.sessions.create({ id: 's', metadata: { context: context.toJSON() } })
    await store.append('s', chat(20, 100))
    expect((await store.compactSession('s', { targetTokens: 500 }))!.compacted).toBe(true)
    const { metadata } = await store.sessions.get('s')
    expect(PersistentContext.from(metadata!.context).render()).toBe(before)
    expect(context.render()).toBe(before)
    expect(before).toBe('## Role\nYou are a careful engineer.\n\n## Rules\nTests first.')
    await store.close()
  })

  it('is a system prompt that counts', () => {
    const systemPrompt = new PersistentContext().addSection(role).render()
    // 8 + 27 characters are 9 tokens, with the margin 11; 4 for the message.
    expect(systemPrompt).toHaveLength(35)
    const { breakdown } = checkContextBudget({ provider: 'openai', system: systemPrompt })
    expect(breakdown.systemPrompt).toBe(15)
  })

  it('keeps its sections when the values they were built from change', () => {
    const section = { ...role }
    const context = new PersistentContext().addSection(section)
    section.content = 'changed'
    ;(context.toJSON().sections[0] as { content: string }).content = 'changed'
    expect(context.render()).toBe('## Role\nYou are a careful engineer.')
  })

  it.each<[string, unknown]>([
    ['no label', { content: '', priority: 0 }],
    ['no content', { label: '', priority: 0 }],
    ['no priority', { label: '', content: '' }],
    ['NaN for a priority', { ...role, priority: Number.NaN }],
    ['a misspelled field', { ...role, prioritty: 1 }],
    ['null', null],
  ])('refuses a section with %s', async (what, section) => {
    expectFailure(
      await failureOf(() => new PersistentContext().addSection(section as never)),
      'INVALID_INPUT',
      what,
    )
    expectFailure(
      await failureOf(() => PersistentContext.from({ sections: [section] })),
      'INVALID_INPUT',
      what,
    )
  })

  it('has a type that asks for all three fields', () => {
    // @ts-expect-error no priority
    const section: ContextSection = { label: '', content: '' }
    expect(section.priority).toBeUndefined()
  })
})
