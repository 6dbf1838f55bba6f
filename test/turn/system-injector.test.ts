import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  allOf,
  anyOf,
  everyNTurns,
  type InjectionTrigger,
  not,
  onTokenThreshold,
  SystemInjector,
} from '../../src/compat/index.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { readGolden } from '../support/golden.ts'

type Case = {
  readonly id: string
  readonly name: string
  readonly input: {
    readonly rules: readonly { everyNTurns?: number; onTokenThreshold?: number; content: string }[]
    readonly turn: number
    readonly tokenCount: number
  }
  readonly expected: { readonly injected: readonly string[] }
}

describe('neuron-system-injector', () => {
  const { cases } = readGolden<{ cases: Case[] }>('neuron-system-injector')

  it.each(cases)('$id $name', ({ input, expected }) => {
    const injector = new SystemInjector()
    for (const { content, ...trigger } of input.rules) injector.addRule(trigger as InjectionTrigger, content)
    expect(injector.check(input.turn, input.tokenCount)).toEqual(expected.injected)
    // A second look, and a copy through JSON, say the same.
    expect(injector.check(input.turn, input.tokenCount)).toEqual(expected.injected)
    const copy = SystemInjector.from(JSON.parse(JSON.stringify(injector)))
    expect(copy.check(input.turn, input.tokenCount)).toEqual(expected.injected)
  })
})

describe('SystemInjector', () => {
  it('starts without rules', () => {
    expect(new SystemInjector().check(5, 100_000)).toEqual([])
  })

  it.each([
    [5, 99, ['not both']],
    [5, 100, ['both', 'either']],
    [4, 100, ['either', 'not both']],
    [4, 99, ['not both']],
  ])('combines triggers: turn %i, %i tokens', (turn, tokens, expected) => {
    const both = allOf(everyNTurns(5), onTokenThreshold(100))
    const injector = new SystemInjector()
      .addRule(both, 'both')
      .addRule(anyOf(onTokenThreshold(100), allOf(everyNTurns(7), not(everyNTurns(14)))), 'either')
      .addRule(not(both), 'not both')
    expect(injector.check(turn, tokens)).toEqual(expected)
  })

  it('keeps its rules when the values they were built from change', () => {
    const trigger = { onTokenThreshold: 10 }
    const injector = new SystemInjector().addRule(trigger, 'x')
    trigger.onTokenThreshold = 1
    ;(injector.toJSON().rules as unknown[]).pop()
    expect(injector.check(1, 9)).toEqual([])
    expect(injector.check(1, 10)).toEqual(['x'])
    expect(Object.isFrozen(injector.toJSON().rules[0]!.trigger)).toBe(true)
  })

  it('obeys the laws of and, or and not', () => {
    const trigger = fc.letrec<{ any: InjectionTrigger }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.nat(6).map(everyNTurns),
        fc.nat(50).map(onTokenThreshold),
        fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((all) => allOf(...all)),
        fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((all) => anyOf(...all)),
        tie('any').map(not),
      ),
    })).any
    fc.assert(
      fc.property(trigger, trigger, fc.nat(30), fc.nat(60), (a, b, turn, tokens) => {
        const injector = new SystemInjector()
          .addRule(a, 'a')
          .addRule(b, 'b')
          .addRule(allOf(a, b), 'and')
          .addRule(anyOf(a, b), 'or')
          .addRule(not(a), 'not a')
        const said = new Set(injector.check(turn, tokens))
        expect(said.has('and')).toBe(said.has('a') && said.has('b'))
        expect(said.has('or')).toBe(said.has('a') || said.has('b'))
        expect(said.has('not a')).toBe(!said.has('a'))
        const copy = SystemInjector.from(JSON.parse(JSON.stringify(injector)))
        expect(copy.check(turn, tokens)).toEqual([...said])
      }),
    )
  })

  const bad = (value: unknown): never => value as never
  let deep: unknown = { onTokenThreshold: 1 }
  for (let level = 0; level < 10_000; level++) deep = { not: deep }
  it.each<[string, () => unknown]>([
    ['a text as a trigger', () => new SystemInjector().addRule(bad('always'), 'x')],
    ['two keys', () => new SystemInjector().addRule(bad({ everyNTurns: 1, onTokenThreshold: 1 }), 'x')],
    ['no key', () => new SystemInjector().addRule(bad({}), 'x')],
    ['an unknown key', () => new SystemInjector().addRule(bad({ toString: 1 }), 'x')],
    ['a __proto__ key', () => new SystemInjector().addRule(bad(JSON.parse('{"__proto__": 1}')), 'x')],
    ['a fraction of a turn', () => everyNTurns(1.5)],
    ['turns below 0', () => everyNTurns(-1)],
    ['NaN tokens', () => onTokenThreshold(Number.NaN)],
    ['allOf nothing', () => allOf()],
    ['anyOf what is no list', () => new SystemInjector().addRule(bad({ anyOf: 'x' }), 'x')],
    ['a nesting without end', () => new SystemInjector().addRule(bad(deep), 'x')],
    ['content that is no text', () => new SystemInjector().addRule(everyNTurns(1), bad(5))],
    ['a check at a turn below 0', () => new SystemInjector().check(-1, 0)],
    ['a check without tokens', () => new SystemInjector().check(1, bad(undefined))],
    ['JSON that is none of ours', () => SystemInjector.from({ rules: [{ trigger: { everyNTurns: 1 } }] })],
    ['a misspelled field', () => SystemInjector.from({ rule: [] })],
  ])('refuses %s', async (what, act) => {
    expectFailure(await failureOf(act), 'INVALID_INPUT', what)
  })
})
