import { UndertextError } from '../../core/errors.ts'
import { check, taken } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { AppliedEdit } from '../../core/stages/provider-compaction.ts'
import type { Compaction, Session } from '../../storage/storage.ts'
import { recordProviderWork, requestedBlock } from '../append.ts'
import { checkId } from '../arguments.ts'
import { hideMessages, type ProviderCompactionResult } from '../compaction/direct-compactions.ts'
import {
  type HideOptions,
  hideSchema,
  idsSchema,
  type ProviderCompactionInput,
  providerCompactionSchema,
} from '../config/store-options.ts'
import type { CompactionHook } from '../events.ts'
import type { ReasoningChange } from '../requests/reasoning.ts'
import { prefixesBefore, withReasoningChange } from '../requests.ts'
import type { Services } from '../services.ts'

/** Single compactions: read one, hide messages, record what a provider compacted, and veto runs. */
export class Compactions {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /** Returns a compaction. Throws `COMPACTION_NOT_FOUND`. */
  async get(sessionId: string, compactionId: string): Promise<Compaction> {
    const id = checkId(sessionId)
    const [compaction] = await this.#services.context.storage.compactions(id, {
      id: checkId(compactionId, 'compactionId'),
    })
    if (compaction === undefined)
      throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId: id, compactionId })
    return compaction
  }

  /**
   * Hides messages with a compaction of kind `manual`, which can be undone like any other. Returns that compaction, with the given `params`
   * (`{ by, why }`).
   *
   * Throws `ILLEGAL_BOUNDARY` if this would separate messages that belong together, or hide a pinned row, a system message or a summary;
   * `PENDING_TOOL_CALLS`; `MESSAGE_NOT_FOUND`; and `STALE_PLAN` for messages that are already hidden.
   */
  async hide(
    sessionId: string,
    messageIds: readonly string[],
    options: HideOptions = {},
  ): Promise<Compaction & ReasoningChange> {
    const id = checkId(sessionId)
    const ids = check(idsSchema, messageIds, 'compactions.hide: messageIds')
    const { actor, reason, params } = check(hideSchema, options, 'compactions.hide')
    const providerOf = (session: Session): string => this.#services.context.modelFor(session).key
    const hide = async (): Promise<Compaction> =>
      this.get(
        id,
        await hideMessages(this.#services.context.storage, id, ids, { actor, reason, params }, providerOf),
      )
    return withReasoningChange(this.#services.context, id, () => true, hide)
  }

  /**
   * Records what a provider itself did to the conversation, as compactions of kind `provider`, which can be undone like any other:
   *
   * - A compaction block in an answer replaces everything before it that may be hidden. The view shows it as a summary, and `renderHistory`
   *   returns it to its provider unchanged. After an undo, the original messages are sent again and the block isn't. `append` records such
   *   blocks automatically.
   * - `answer` is a block that the provider wrote on request, for the messages before `keepFrom`. It replaces those messages.
   * - `appliedEdits` is the answer's `context_management.applied_edits`: as many of the oldest tool results as the provider cleared show a
   *   placeholder, and as many of the oldest turns show no reasoning.
   *
   * Recording the same compaction again does nothing, even if it was undone. Throws `MESSAGE_NOT_FOUND`, and `STALE_PLAN` if other writers
   * keep changing the view.
   */
  async recordProvider(
    sessionId: string,
    input: ProviderCompactionInput = {},
  ): Promise<ProviderCompactionResult> {
    const id = checkId(sessionId)
    const checked = check(providerCompactionSchema, input, 'compactions.recordProvider')
    const { messageId, provider, excludeTools, actor, reason } = checked
    const appliedEdits = taken(checked.appliedEdits) as readonly AppliedEdit[]
    const block = requestedBlock(this.#services.context.storage, checked)
    const requested = block && {
      ...block,
      ...defined({ replaced: await prefixesBefore(this.#services.context, id, provider, block.keepFrom) }),
    }
    const record = { messageId, provider, appliedEdits, excludeTools, actor, reason, requested }
    return recordProviderWork(this.#services.context, id, record)
  }

  /**
   * Adds a hook that is called, and awaited, before every run of `compactSession` commits. If it returns `false` or throws, nothing changes
   * and the result has the reason `VETOED`. Returns a function that removes the hook.
   */
  onBefore(hook: CompactionHook): () => void {
    return this.#services.context.events.addHook(hook)
  }
}
