import { describe, expect, it } from 'vitest'
import { assistant, did, sectionsOf, summarize, user } from './support.ts'

function sections(text: string): Record<string, string[]> {
  return sectionsOf(
    summarize([user(text), ...did('c', 'bash', { command: 'x' }, 'line of output\n'.repeat(400))]),
  )
}
const rules = (text: string) => sections(text)['Constraints and Established Rules']

describe('rules of other languages', () => {
  it.each([
    'Ändere niemals die öffentliche API.',
    'Auf keinen Fall die Datenbank löschen.',
    'Die Tests bitte immer ohne Netz laufen lassen.',
    'Das Modul darf nicht von außen geladen werden.',
    'Jede Zahl muss gerundet sein.',
    'Bitte nur Leerzeichen statt Tabs.',
    "Ne modifie jamais l'API publique.",
    'Utilise toujours des espaces.',
    'Il faut garder les commentaires.',
    'Des espaces au lieu de tabulations.',
    'Nunca cambies la API pública.',
    'Usa siempre espacios aquí.',
    'El total debe estar en céntimos.',
    'Espacios en lugar de tabuladores.',
    '不要修改数据库。',
    '绝对不可以删除日志。',
    '金额必须用整数表示。',
    '不能改变公共接口。',
    '请务必先运行测试。',
    '必ずテストを実行する。',
    'データベースを変更しないでください。',
    '常に整数を使う。',
    'No modificar el encabezado.',
    'Não altere a API.',
    'Responda sempre em português.',
    'Не трогай базу данных.',
    'Non modificare il database.',
    '커밋하지 마세요.',
    '항상 테스트를 실행해 주세요.',
    'Schreibe niemals direkt in die Datenbank.',
    'Ich will nicht, dass du ohne Rückfrage pushst.',
    'Évite les dépendances inutiles.',
    'No quiero que hagas push sin preguntar.',
    'Não modifique os arquivos gerados.',
    'Da ora in poi scrivi i commenti in inglese.',
    'Всегда отвечай на русском.',
    'Не трогать базу данных.',
    '所有接口都要写测试。',
    'グローバル変数は使わないこと。',
    '새 의존성은 추가하지 말아줘.',
  ])('%s', (text) => {
    expect(rules(text)).toEqual([`User: "${text}"`])
  })

  it.each([
    'Es ist immer noch langsam.',
    'Das habe ich noch nie gesehen.',
    'Ich muss kurz weg.',
    'Ça ne marche toujours pas.',
    'Como siempre, gracias.',
    '你能不能看一下日志？',
    '绝对路径是什么？',
    '这个程序不能运行。',
    'Die große Datei ist alt.',
    'La prueba siempre falla.',
    'Der Test schlägt immer fehl.',
    'カードないですからできません。',
    'テストは必ず失敗します。',
    '테스트가 항상 실패합니다.',
    // A report begins with its subject; an adverb after a noun describes it.
    "Le bouton n'apparaît jamais ici.",
    'El botón nunca aparece aquí.',
    'Aggiungi un pulsante sempre visibile.',
    'Кнопка никогда не появляется.',
    'Die Seite lädt nicht mehr.',
    '页面不能加载。',
    '常に表示されるボタンを追加してください。',
    '항상 보이는 버튼을 추가해 줘.',
    '걱정하지 마세요.',
    // English words that other languages write the same.
    'The die is cast in sans and solo, a sin in the USA.',
    'The wall fell in the fall.',
    'Comment on the immersion and the nursery.',
  ])('not: %s', (text) => {
    expect(rules(text)).toBeUndefined()
  })
})

it.each([
  ['Der Import zeigt einen Fehler. Danke dir.', 'Der Import zeigt einen Fehler.'],
  ["L'import ne marche pas. Merci bien.", "L'import ne marche pas."],
  ['La tabla no funciona. Gracias por todo.', 'La tabla no funciona.'],
  ['导入报错了。谢谢。', '导入报错了。'],
  ['ボタンが動かない。よろしく。', 'ボタンが動かない。'],
])('a complaint: %s', (text, complaint) => {
  expect(sections(text)['Problem Solving']).toEqual([`User: "${complaint}"`])
})

it.each([
  ['Die Rechnung ist 1.234,50 € hoch.', '1.234,50 €'],
  ['It cost £12.50 then.', '£12.50'],
  ['Das waren €99, genau.', '€99'],
  ['Das Hotel nimmt 80 EUR am Tag.', '80 EUR'],
  ['一共是300元。', '300元'],
  ['合計は¥4,800です。', '¥4,800'],
  ['Es gilt ab 05.11.2026 für alle.', '05.11.2026'],
  ['It was $12.10 before.', '$12.10'],
])('a sum or a day in an early text: %s', (text, value) => {
  const talk = Array.from({ length: 8 }, (_, i) => [
    user(`Please tell me more about the town of number ${'abcdefgh'[i]}, and what people do there all day.`),
    assistant('It is a quiet town on the river, with a market and an old mill. '.repeat(8)),
  ])
  const [first, ...others] = talk
  const summary = summarize([...first!, user(text), assistant('I see.'), ...others.flat()], {
    maxTokens: 150,
  })
  expect(summary).toContain(value)
})

it('a short Chinese chat keeps the first request, with ids in it', () => {
  const first = '请帮我查一下订单 W4821137 的退款，客户编号 KD-20931，发票 INV-88213，不要修改数据库。'
  for (let later = 0; later < 6; later++) {
    const chat = [user(first), assistant('好的，订单 W4821137 已经退款，退款号 RF-30018。')]
    for (let i = 0; i < later; i++)
      chat.push(user(`现在再查订单 W482113${i}。`), assistant('订单已经查好了，一切正常。'))
    // Of 30 tokens there is not room for all of it.
    expect(summarize(chat, { maxTokens: 30 })).toContain('First request: "请帮我查一下订单 W4821137')
    for (const maxTokens of [90, 4_000])
      expect(summarize(chat, { maxTokens })).toContain('First request: "请帮我查一下订单 W4821137 的退款')
  }
})
