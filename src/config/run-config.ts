import type { JsonObject } from '../messages/json.ts'
import { chosenSummarizer } from '../summarizers/choose.ts'
import { registryOf } from '../tokens/windows.ts'
import type { CheckedConfig } from './compaction.ts'
import { kept } from './layers.ts'
import { type Configuration, type ResolvedConfig, saidOf } from './resolve.ts'
import {
  CALL_FACTS,
  type CheckedCall,
  COMPACTION_KEYS,
  SETTING_SOURCES,
  type SettingName,
} from './settings.ts'
import { MAX_RETAINED_MESSAGES, type StageSetting, stagesOf, withWindow } from './stages.ts'

/** The stages of seed 003 by name, and the emergency cut. */
const PIPELINE: readonly StageSetting[] = ['prune', 'deduplicate', 'summarize', 'truncate', 'cut']

/** Provider and model of a run: the call's, else the session's, which are no settings of its config. */
const OWN_KEYS = COMPACTION_KEYS.filter((name) => name !== 'provider' && name !== 'model')

/**
 * The config of one run: what the call says, filled in from the layers beneath it. `undefined` where this package is
 * switched off (`enabled: false`).
 */
export function runConfig(
  configuration: Configuration,
  session: { readonly config: JsonObject | undefined },
  call: CheckedCall,
): CheckedConfig | undefined {
  const given = new Map<string, unknown>(Object.entries(call))
  const facts = Object.fromEntries(
    CALL_FACTS.flatMap((name) => (given.has(name) ? [[name, given.get(name)]] : [])),
  )
  for (const name of CALL_FACTS) given.delete(name)
  const resolved = configuration.ofCall(session.config, kept(Object.fromEntries(given)))
  const { settings } = resolved
  if (!settings.enabled) return undefined

  // Seed 004: a session that does not summarize by itself does so when it is asked to.
  const isQuiet = call.trigger === 'auto' && !settings.enableAutoSummarize
  const stages = stagesOfRun(resolved, call, isQuiet)
  const said = saidOf(resolved, OWN_KEYS)
  // Least savings that are said elsewhere are for runs nobody asked for.
  const { minimumSavings: _, ...rest } = said
  const isAsked = call.trigger !== 'auto' && call.minimumSavings === undefined
  return {
    ...(isAsked ? rest : said),
    ...facts,
    windows: registryOf(settings.preset),
    ...(call.provider !== undefined && { provider: call.provider }),
    ...(call.model !== undefined && { model: call.model }),
    ...(isQuiet && { enableSummarize: false }),
    ...(stages !== undefined && { stages }),
    ...chosenSummarizer(settings.summarizer, settings.summarizationProvider, settings.summarizationModel),
  } as CheckedConfig
}

/** The stages of a run: none where nothing may be hidden automatically, and none of a range, which is condensed and nothing else. */
function stagesOfRun(
  resolved: ResolvedConfig,
  call: CheckedCall,
  isQuiet: boolean,
): ReturnType<typeof stagesOf> | undefined {
  if (isQuiet && !resolved.settings.auto) return []
  return call.range === undefined ? compositionOf(resolved, isQuiet) : undefined
}

/** The stages of a run, or `undefined` for the pipeline of seed 003 by its four switches. */
function compositionOf(resolved: ResolvedConfig, isQuiet: boolean): ReturnType<typeof stagesOf> | undefined {
  const { settings } = resolved
  // Stages that are said with more weight than a switch stand as they are said.
  const counts = (name: SettingName): boolean => weight(resolved, name) >= weight(resolved, 'stages')
  const isOn = (
    name: 'enablePrune' | 'enableDeduplicate' | 'enableSummarize' | 'enableTruncate' | 'emergencyCut',
  ) => settings[name] !== false || !counts(name)

  const isBounded = weight(resolved, 'maxRetainedMessages') > LIGHT && counts('maxRetainedMessages')
  if (settings.stages === undefined && !isBounded) return undefined
  const said = settings.stages ?? PIPELINE
  const switches = {
    prune: isOn('enablePrune'),
    deduplicate: isOn('enableDeduplicate'),
    summarize: isOn('enableSummarize') && !isQuiet,
    truncate: isOn('enableTruncate'),
    cut: isOn('enableTruncate') && isOn('emergencyCut'),
  }
  const { prunePlaceholder, pruneProtectedTools } = saidOf(resolved, [
    'prunePlaceholder',
    'pruneProtectedTools',
  ])
  return stagesOf(isBounded ? withWindow(said) : said, switches, {
    retained: settings.maxRetainedMessages ?? MAX_RETAINED_MESSAGES,
    placeholder: prunePlaceholder,
    protectedTools: pruneProtectedTools,
  })
}

/** The heavier the larger. */
function weight({ sources }: ResolvedConfig, name: SettingName): number {
  return SETTING_SOURCES.length - SETTING_SOURCES.indexOf(sources[name])
}

/** The weight of what a preset says; nobody asked for that in particular. */
const LIGHT = SETTING_SOURCES.length - SETTING_SOURCES.indexOf('preset')
