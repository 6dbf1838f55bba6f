/** The longest delay of a Node timer, milliseconds; a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1
