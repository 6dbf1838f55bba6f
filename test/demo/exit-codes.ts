/** An argument or a file that cannot be used. */
export const UNUSABLE = 2
/** Something the demo claims is not so. */
export const BROKEN = 3
/** Whoever reads us through a pipe has seen enough (`| head`): as a broken pipe ends a program. */
export const UNREAD = 128 + 13
