import { describe, expect, it } from 'vitest'
import {
  CLEARED_PLACEHOLDER,
  CUT_ENDING,
  DEDUP_THRESHOLD,
  KEEP_RECENT_RATIO,
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PLACEHOLDER,
  PRUNE_PROTECT_TOKENS,
  PRUNE_PROTECTED_TOOLS,
  repairToolPairs,
  STRATEGY_KINDS,
  TRUNCATION_FRACTION,
  TRUNCATION_MARKER,
} from '../../src/compat/arrays/index.ts'
import {
  BLOG_SECTIONS,
  createTokenCounter,
  DEFAULT_MAX_PREVIEW_BYTES,
  estimateNcaTokens,
  FILE_FAST_PATH_SIZE,
  FILE_PREVIEW_CHARS,
  FILE_PREVIEW_MODE_SIZE,
  FILE_READ_BUDGET_PERCENT,
  getContextOverflowProvider,
  MAX_MESSAGE_CHARS_FOR_SUMMARY,
  MEMORY_TOKEN_BUDGET,
  NCA_ATTENTION_PERCENT,
  NCA_AUTO_SUMMARIZE_THRESHOLD,
  NCA_CONTEXT_WINDOW_TARGET,
  RECALL_TOP_K,
} from '../../src/compat/index.ts'
import { truncateToolOutput } from '../../src/compat/truncate-tool-output.ts'
import { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from '../../src/core/files/tool-output/cut-output.ts'
import { DEFAULT_COMPACTION_THRESHOLD, DEFAULT_PROVIDER } from '../../src/core/tokens/budget.ts'
import {
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  DEFAULT_CONTEXT_WINDOW,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  MAX_DEFAULT_OUTPUT_RESERVE,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from '../../src/core/tokens/index.ts'
import { PRESETS } from '../../src/index.ts'
import { DEFAULT_WARNING_LEVELS } from '../../src/store/config/settings.ts'
import { MAX_RETAINED_MESSAGES } from '../../src/store/config/stages.ts'
import { readGolden } from '../support/golden.ts'

type Constant = { readonly seed: string; readonly name: string; readonly value: unknown }

/** What each constant is here; where it is a rule and no export, what the function does. */
const HERE: Readonly<Record<string, (value: never) => unknown>> = {
  'S0 TokenCounter default characters per token': () =>
    400 / createTokenCounter().estimateText('x'.repeat(400)),
  'S0 image tokens': () => counted([{ type: 'image' }]),
  'S0 document tokens': () => counted([{ type: 'document' }]),
  'S0 tokens per message': () => createTokenCounter().estimateMessages([{ role: 'user', content: [] }]),
  'S0 cleared tool result text': () => CLEARED_PLACEHOLDER,
  'S1 strategy kinds': () => STRATEGY_KINDS,
  'S2 DEFAULT_COMPACTION_THRESHOLD': () => DEFAULT_COMPACTION_THRESHOLD,
  'S2 minSavingsThreshold': () => DEDUP_THRESHOLD,
  'S2 FILE_READ_BUDGET_PERCENT': () => FILE_READ_BUDGET_PERCENT,
  'S2 emergency ending': () => CUT_ENDING,
  'S2 DEFAULT_MAX_PREVIEW_BYTES': () => DEFAULT_MAX_PREVIEW_BYTES,
  'S3 contextCompaction.threshold': () => DEFAULT_COMPACTION_THRESHOLD,
  'S3 contextCompaction.maxToolOutputBytes': () => MAX_TOOL_OUTPUT_BYTES,
  'S3 contextCompaction.maxToolOutputLines': () => MAX_TOOL_OUTPUT_LINES,
  'S3 contextCompaction.fileReadBudgetPercent': () => FILE_READ_BUDGET_PERCENT,
  'S3 pruneProtectTokens': () => PRUNE_PROTECT_TOKENS,
  'S3 pruneMinimumSavings': () => PRUNE_MINIMUM_SAVINGS,
  'S3 pruneProtectedTools': () => PRUNE_PROTECTED_TOOLS,
  'S3 keepRecentRatio': () => KEEP_RECENT_RATIO,
  'S3 truncationFraction': () => TRUNCATION_FRACTION,
  'S3 DEDUP_THRESHOLD': () => DEDUP_THRESHOLD,
  'S3 cleared placeholder': () => PRUNE_PLACEHOLDER,
  'S3 truncation marker': () => TRUNCATION_MARKER,
  'S3 missing result text': () =>
    repairToolPairs([{ role: 'tool_call', content: '', tool: 'f' }]).messages[1]?.content,
  'S3 missing call text': () =>
    repairToolPairs([{ role: 'tool_result', content: '', tool: '<tool>' }]).messages[0]?.content,
  'S3 CHARS_PER_TOKEN': () => CHARS_PER_TOKEN,
  'S3 CODE_CHARS_PER_TOKEN': () => CODE_CHARS_PER_TOKEN,
  'S3 TOKEN_SAFETY_MARGIN': () => TOKEN_SAFETY_MARGIN,
  'S3 TOKENS_PER_MESSAGE': () => TOKENS_PER_MESSAGE,
  'S3 TOKENS_PER_CONVERSATION': () => TOKENS_PER_CONVERSATION,
  'S3 IMAGE_TOKEN_ESTIMATE': () => IMAGE_TOKEN_ESTIMATE,
  'S3 provider multipliers': (value: Record<string, number>) =>
    Object.fromEntries(Object.keys(value).map((name) => [name, getProviderMultiplier(name)])),
  'S3 DEFAULT_CONTEXT_WINDOW': () => DEFAULT_CONTEXT_WINDOW,
  'S3 MAX_DEFAULT_OUTPUT_RESERVE': () => MAX_DEFAULT_OUTPUT_RESERVE,
  'S3 DEFAULT_OUTPUT_RESERVE_RATIO': () => DEFAULT_OUTPUT_RESERVE_RATIO,
  'S3 MAX_TOOL_OUTPUT_BYTES': () => MAX_TOOL_OUTPUT_BYTES,
  'S3 MAX_TOOL_OUTPUT_LINES': () => MAX_TOOL_OUTPUT_LINES,
  'S3 truncate direction': () =>
    truncateToolOutput('head\ntail', { maxLines: 1 }).content.includes('tail') ? 'tail' : 'head',
  'S3 FILE_READ_BUDGET_PERCENT': () => FILE_READ_BUDGET_PERCENT,
  'S3 FILE_FAST_PATH_SIZE': () => FILE_FAST_PATH_SIZE,
  'S3 FILE_PREVIEW_MODE_SIZE': () => FILE_PREVIEW_MODE_SIZE,
  'S3 FILE_PREVIEW_CHARS': () => FILE_PREVIEW_CHARS,
  'S3 default provider of stats': () => DEFAULT_PROVIDER,
  // "input is too long" is also Bedrock's, which stands first (conflict C-28).
  'S3 overflow error patterns': (value: Record<string, string[]>) =>
    Object.fromEntries(
      Object.entries(value).map(([provider, patterns]) => [
        provider,
        patterns.filter((pattern) => {
          const text = `${pattern.replace('.*', ': too many input ')} in tokens`
          const found = getContextOverflowProvider(text)
          return found === provider || (pattern === 'input is too long' && found === 'bedrock')
        }),
      ]),
    ),
  'S1 recall_top_k': () => RECALL_TOP_K,
  'S1 memory_token_budget': () => MEMORY_TOKEN_BUDGET,
  'S3 CLI notice ratio': () => DEFAULT_WARNING_LEVELS[0],
  'S3 CLI warning ratio': () => DEFAULT_WARNING_LEVELS[1],
  'S4 auto_summarize_threshold': () => NCA_AUTO_SUMMARIZE_THRESHOLD,
  'S4 max_message_chars_for_summary (source only)': () => MAX_MESSAGE_CHARS_FOR_SUMMARY,
  'S2 SUMMARY_SECTIONS': () => BLOG_SECTIONS,
  'S4 context_window_target': () => NCA_CONTEXT_WINDOW_TARGET,
  'S4 max_retained_messages': () => MAX_RETAINED_MESSAGES,
  'S4 enable_auto_summarize': () => PRESETS.nca.enableAutoSummarize,
  'S4 auto_compact_on_finish': () => PRESETS.nca.autoCompactOnFinish,
  'S4 warning percent': () => NCA_ATTENTION_PERCENT,
  'S4 divisor tool': () => 35 / (estimateNcaTokens({ role: 'tool', content: 'x'.repeat(35) }) - 10),
  'S4 divisor other': () => 40 / (estimateNcaTokens({ role: 'user', content: 'x'.repeat(40) }) - 10),
  'S4 tokens per message': () => estimateNcaTokens({ role: 'user', content: '' }),
  'S4 tokens per tool call': () =>
    estimateNcaTokens({ role: 'assistant', content: '', tool_calls: [{ name: 'f' }] }) - 10,
}

/** What other tests hold (stages, rendering), and what strategies, presets, settings and the command line bring. */
const ELSEWHERE: readonly string[] = [
  'S0 summary prefix',
  'S0 server compaction strategy',
  'S1 user score',
  'S1 assistant with tool calls score',
  'S1 assistant score',
  'S1 tool score',
  'S1 other score',
  'S2 pruned placeholder',
  'S2 pruned placeholder with size',
  'S2 summary tag',
  'S3 summarizationProvider',
  'S3 summarizationModel',
  'S3 minimum recent messages',
  'S3 no-op message count',
  'S3 dedup placeholder',
  'S3 overflow retry target ratio',
  'S3 max sessions in memory',
  'S3 stages',
  'S4 max_notes',
  'S4 memory file_path',
  'S4 summary header',
  'S4 events',
  'S4 phases',
]

function counted(content: readonly object[]): number {
  const counter = createTokenCounter()
  const tokens = (blocks: readonly object[]): number =>
    counter.estimateMessages([{ role: 'user', content: blocks }] as never)
  return tokens(content) - tokens([])
}

describe('seed-constants', () => {
  const { constants } = readGolden<{ constants: Constant[] }>('seed-constants')
  const nameOf = ({ seed, name }: Constant): string => `${seed} ${name}`

  it('are all accounted for', () => {
    expect(constants.map(nameOf).sort()).toEqual([...Object.keys(HERE), ...ELSEWHERE].sort())
  })

  it.each(constants.filter((one) => nameOf(one) in HERE).map((one) => [nameOf(one), one.value] as const))(
    '%s',
    (name, value) => {
      expect(HERE[name]!(value as never)).toEqual(value)
    },
  )
})
