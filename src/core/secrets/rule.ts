/** A credential in a text, and what kind it is. */
export type FoundSecret = { readonly kind: string; readonly start: number; readonly end: number }

/** A rule that finds credentials of one kind. */
export type SecretRule = {
  /** What a placeholder and the audit call it. */
  readonly kind: string
  /** The rule is tried on texts with one of these words, in small letters; absent: on all texts. */
  readonly keywords?: readonly string[]
  /** The least Shannon entropy of the secret, in bits a character. */
  readonly entropy?: number
  /** Whether the name of a field makes any value of this form a secret; it then needs a digit. */
  readonly isField?: true
  /** Global. The secret is the first group that matches, else the whole match. */
  readonly pattern: RegExp
  /** What looks like a secret, and isn't. */
  readonly notSecret?: RegExp
  /** Whether a match is a secret. */
  readonly isSecret?: (secret: string) => boolean
}
