/**
 * The version of this package. A test compares it with package.json, which is not read at run time because a bundle has none beside it.
 */
export const PACKAGE_VERSION = '0.1.0'
