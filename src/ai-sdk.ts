/*
 * What concerns the AI SDK (`ai`, an optional peer): the entry `undertext/ai-sdk`.
 */

export {}
