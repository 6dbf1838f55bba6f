/**
 * Least length of a later copy of a file, as a share of the earlier one's. Edits make a file a little shorter between two
 * reads; a text that has lost more was more likely cut in a way nobody told, or is another answer altogether.
 */
export const LEAST_LENGTH = 0.9
