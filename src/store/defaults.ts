import { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from '../core/files/tool-output/cut-output.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
} from '../core/tokens/budget.ts'
import { PREPARE_WAIT_MS } from './compaction/waiting.ts'
import { DEFAULTS as SETTINGS } from './config/resolve.ts'
import { DEFAULT_BACKGROUND_THRESHOLD, DEFAULT_WARNING_LEVELS, SPEND_WINDOW_MS } from './config/settings.ts'
import { MAX_RETAINED_MESSAGES } from './config/stages.ts'
import { OVERFLOW_TARGET } from './requests/recovery.ts'

/** The defaults of settings and limits that don't depend on the model. Shares are from 0 to 1. */
export const DEFAULTS = Object.freeze({
  /** The provider of calls and sessions that don't name one. */
  provider: DEFAULT_PROVIDER,
  /** The usage at which compaction is due, as a share of the available input. */
  threshold: DEFAULT_COMPACTION_THRESHOLD,
  /** The usage to which a compaction reduces the history, as a share of the available input. */
  target: DEFAULT_COMPACTION_TARGET,
  /** The usage at which a compaction is queued in the background, as a share of the available input. */
  backgroundThreshold: DEFAULT_BACKGROUND_THRESHOLD,
  /** Minimum milliseconds between two background compactions of a session. */
  backgroundMinIntervalMs: SETTINGS.backgroundMinIntervalMs,
  /** Milliseconds for which automatic summaries pause after repeated failures. */
  circuitResetMs: SETTINGS.circuitResetMs,
  /** Milliseconds of the window in which the spending on summaries is limited. */
  spendWindowMs: SPEND_WINDOW_MS,
  /** The usages at which `contextWarning` is emitted, as shares of the available input. */
  warningLevels: DEFAULT_WARNING_LEVELS,
  /** Maximum number of messages that a sliding window keeps. */
  maxRetainedMessages: MAX_RETAINED_MESSAGES,
  /** Bytes above which the view shows only the head and tail of a tool output. */
  maxToolOutputBytes: MAX_TOOL_OUTPUT_BYTES,
  /** Lines above which the view shows only the head and tail of a tool output. */
  maxToolOutputLines: MAX_TOOL_OUTPUT_LINES,
  /** The share of the available room to which recovery from an overflow reduces the history. */
  overflowTarget: OVERFLOW_TARGET,
  /** Milliseconds that `prepareRequest` waits for models and other runs. */
  prepareWaitMs: PREPARE_WAIT_MS,
} as const)
