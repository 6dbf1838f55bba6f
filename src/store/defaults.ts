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

/** The defaults of settings and limits, where they do not depend on the model. Shares are from 0 to 1. */
export const DEFAULTS = Object.freeze({
  /** The provider of calls and sessions that name none. */
  provider: DEFAULT_PROVIDER,
  /** The usage at which compaction is due, a share of the available input. */
  threshold: DEFAULT_COMPACTION_THRESHOLD,
  /** The usage that a compaction brings the history down to. */
  target: DEFAULT_COMPACTION_TARGET,
  /** The usage at which a compaction is queued in the background. */
  backgroundThreshold: DEFAULT_BACKGROUND_THRESHOLD,
  /** The shortest time between two background compactions of a session. */
  backgroundMinIntervalMs: SETTINGS.backgroundMinIntervalMs,
  /** How long automatic summaries pause after repeated failures. */
  circuitResetMs: SETTINGS.circuitResetMs,
  /** The window of the limits on what summaries cost. */
  spendWindowMs: SPEND_WINDOW_MS,
  /** The usages at which `contextWarning` is emitted. */
  warningLevels: DEFAULT_WARNING_LEVELS,
  /** The most messages that a window keeps. */
  maxRetainedMessages: MAX_RETAINED_MESSAGES,
  /** Tool outputs larger than this are shown as head and tail. */
  maxToolOutputBytes: MAX_TOOL_OUTPUT_BYTES,
  /** Tool outputs with more lines than this are shown as head and tail. */
  maxToolOutputLines: MAX_TOOL_OUTPUT_LINES,
  /** The share of the room that recovery from an overflow leaves. */
  overflowTarget: OVERFLOW_TARGET,
  /** How long `prepareRequest` waits for models and other runs. */
  prepareWaitMs: PREPARE_WAIT_MS,
} as const)
