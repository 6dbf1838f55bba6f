/** What help says of an argument that names a session. */
export const SESSION = 'an id, a beginning of one, or @ for the session changed last'

/** What help says of an argument that names a compaction or a run. */
export const COMPACTION =
  'a compaction or a run, as `undertext log` shows it: an id, a beginning or an end of one, or @ for the newest run'
