/** What `verifySession` can find. */
export type FindingCode =
  | 'TAG_CYCLE'
  | 'ORPHAN_TAG'
  | 'FOREIGN_TAG'
  | 'TAG_MISSING'
  | 'TAG_WRONG'
  | 'COUNTER_DRIFT'
  | 'SIZE_DRIFT'
  | 'PARTED_PAIR'
  | 'POSITION_GAP'
  | 'CONTENT_MISSING'
  | 'CONTENT_DAMAGED'
  | 'INSERTED_TWICE'
  | 'BLOB_MISSING'
  | 'BLOB_DAMAGED'
  | 'BLOB_REFERENCES'
  | 'INDEX_DRIFT'
  | 'COMPACTION_DAMAGED'
  | 'GUARD_MISSING'
  | 'GUARD_CHANGED'
  | 'FOREIGN_TRIGGER'

/** One thing that is not as it must be: ids and numbers, never text of the conversation. */
export type Finding = {
  readonly code: FindingCode
  readonly messageId?: string
  readonly compactionId?: string
  /** What was found and what was expected, for people. */
  readonly detail: string
  /** Whether `repair: true` can mend it from what is known. */
  readonly repairable: boolean
}
