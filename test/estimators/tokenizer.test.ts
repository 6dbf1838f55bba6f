import fc from 'fast-check'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { calibratedEstimator, tokenizerEstimator } from '../../src/core/tokens/index.ts'
import { isUndertextError, openStore } from '../../src/index.ts'

const plain = { disallowedSpecial: new Set<string>() }

it('counts what the tokenizer counts', async () => {
  const o200k = await tokenizerEstimator('o200k_base')
  const cl100k = await tokenizerEstimator('cl100k_base')
  for (const text of [
    '',
    'Hello, world!',
    'HTTPServer handleRequest(foo_barBaz)',
    '日本語のテキスト、です。',
    'ok\n\n    x'.repeat(99),
  ]) {
    expect(o200k.measureText(text)).toBe(countTokens(text, plain))
    expect(cl100k.measureText(text)).toBe(countCl100k(text, plain))
  }
  // Known figures of OpenAI's tokenizers: "Hello, world!" is 4 tokens in both.
  expect(o200k.measureText('Hello, world!')).toBe(4)
  expect(cl100k.measureText('Hello, world!')).toBe(4)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      expect(o200k.measureText(text)).toBe(countTokens(text, plain))
    }),
  )
})

it('takes special tokens for text', async () => {
  const { measureText } = await tokenizerEstimator('o200k_base')
  expect(measureText('<|endoftext|>')).toBeGreaterThan(1)
})

it('counts endless runs in pieces, wrong by less than one in fifty', async () => {
  const { measureText } = await tokenizerEstimator('o200k_base')
  for (const unit of ['a', ' ', '_', '😀', '的', '\n', 'あ。']) {
    const tokens = measureText(unit.repeat(200_000 / unit.length))
    const exact = countTokens(unit.repeat(4_096 / unit.length), plain) * (200_000 / 4_096)
    expect(Math.abs(tokens / exact - 1), JSON.stringify(unit)).toBeLessThan(0.02)
  }
})

it('is had by name in a store, and refused by a wrong one', async () => {
  const store = await openStore(':memory:', { estimator: 'o200k_base', estimators: ['cl100k_base'] })
  await store.append('s', [{ role: 'user', content: 'Hello, world!' }])
  // 4 tokens, 4 of framing, 3 for the answer.
  expect((await store.getContextStats('s', 'openai', 'gpt-4o'))?.estimatedInputTokens).toBe(11)
  await store.sessions.reestimate('s', 'cl100k_base')
  await store.close()
  await expect(tokenizerEstimator('p50k_base')).rejects.toSatisfy((error) =>
    isUndertextError(error, 'INVALID_INPUT'),
  )
})

it.each([
  ['Oriya', 'ଏହି ସିଷ୍ଟମ ସ୍ୱୟଂଚାଳିତ ଭାବରେ ବାର୍ତ୍ତାଳାପକୁ ସଙ୍କୁଚିତ କରେ। '],
  ['Lao', 'ລະບົບນີ້ບີບອັດການສົນທະນາໂດຍອັດຕະໂນມັດ. '],
  ['Tibetan', 'མ་ལག་འདིས་གླེང་མོལ་རང་འགུལ་གྱིས་བསྡུ་བ་ཡིན། '],
  ['Amharic', 'ስርዓቱ ውይይቱን በራስ-ሰር ይጭነዋል። ዋናውን ጽሑፍ ያስቀምጣል። '],
  ['Dhivehi', 'މި ސިސްޓަމް އޮޓޮމެޓިކުން ވާހަކަ ކުރުކުރެއެވެ. '],
  ['Syriac', 'ܫܠܡܐ ܥܠܡܐ ܗܢܐ ܟܬܒܐ '],
  ["N'Ko", 'ߒߞߏ ߞߊ߲ ߛߓߍߢߍ߲ '],
  ['Mongolian', 'ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ ᠦᠰᠦᠭ '],
  ['Inuktitut', 'ᐃᓄᒃᑎᑐᑦ ᐅᖃᐅᓯᖅ ᓄᓇᕗᑦ '],
  ['Cherokee', 'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎤᎵᎮᎵᏍᏗ '],
  ['Yi', 'ꆈꌠꁱꂷ ꉬꄒꉬ '],
  ['Javanese', 'ꦲꦏ꧀ꦱꦫꦗꦮ '],
  ['Burmese', 'စနစ်သည် စကားဝိုင်းကို အလိုအလျောက် ချုံ့ပေးသည်။ '],
  ['Khmer', 'ប្រព័ន្ធនេះបង្រួមការសន្ទនាដោយស្វ័យប្រវត្តិ។ '],
  ['Georgian', 'სისტემა ავტომატურად კუმშავს საუბარს. '],
])('calibrated comes out near o200k for a script o200k hardly knows: %s', async (_, sentence) => {
  const o200k = await tokenizerEstimator('o200k_base')
  const text = sentence.repeat(10)
  const share = calibratedEstimator.toTokens(calibratedEstimator.measureText(text)) / o200k.measureText(text)
  expect(share).toBeGreaterThan(0.7)
  expect(share).toBeLessThan(1.4)
})
