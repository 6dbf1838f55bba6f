/*
 * Costs of the estimator `calibrated`, in sixteenths of a token: one letter of `ABC…+-` a cell, A = −22. How they
 * came about stands in `calibrated.ts`. They are figures, not text: change them only by fitting them anew.
 */

/** First letter of a word by what stands before it: nothing, a space, a sign; each for small letters, then capitals. */
export const WORD_STARTS = [
  'JJIEIKIHMOMGLJPMUIFJNQIKJVTbZ',
  'LKKHJNKLPRNJJLQLWJHMPRNSLWafb',
  'GEFAEIDFIIEEFFIHODBDIJBHAMMPL',
  'LIJEHKJJMMLFKJQLVJEHLPKSEVViq',
  'UTUOQSQOTUVNRPXVcRNPUXSQJaWpZ',
  'UYYSSYWWbcbSXUaXZUTUacWbYfu+Z',
] as const

/** A letter after another, cases folded, by a to z, U+00C0, U+0100, U+1E00. */
export const SMALL_PAIRS = [
  'eWWRcYPaadYRTUgWiSVQZZXXPcYfg',
  'ZedeUgiheWgRhhWhsVVdchgjYqdui',
  'XfZfQfdTXjSRYdVafRZNYhegTcegi',
  'ahibVhWlfSeYhddmhZXbhndiVglom',
  'bdcVbaYdgjfYaVhbdVVXidUXYjjmg',
  'XedcVabhZigXXZWfhVdXcjZfYjccg',
  'ggeiVcdWfohcTahlqZaYdjghaglrr',
  'ZeneUiZqcjcVUUZgjVcSdfdfXeeji',
  'VTSQSRPadZWPTPPReSPPfXbWUWXgZ',
  'WfhUTdabV6OYeXXfgeXdabXcYeXeg',
  'aYeRWdWZekeaeWfdkeYVenaheigdj',
  'bWkWXbaeenfWYgcaniaYdcbjQqjik',
  'XZdeTicddngeXYXZjeVgdnchLoekh',
  'ciZUXcUYfgaacacfpeVUeaehaheke',
  'YTYUYKReddXUURVVjRWTZYQbUXgfc',
  'YbcZQebScjdOSeTaeQXScdeeUjgjg',
  'XZUZZdaaaedUYcad0JXSQgeXZhgug',
  'bbdUVcYfchdaXUafdaWZggYeRjiin',
  'ehcYVYeYeoeegVdbjbWWfgUeVjfhm',
  'bfedWfUTbnYdZdbZoVZZfhYfWefnj',
  'VQTSPPQcWcYOPRaRgNRNjaZSUeZde',
  'WbbePfZcZfbVbbWefYbcdmVgZceid',
  'cjkaWjfXekgZhZTfoXRdkhjbglhpg',
  'ZfWaVffmcijeUgjZnhbWhjidUjksk',
  'ihjjgmjqlnecdZdbqeYYnjXnojmrZ',
  'WcbYQbZYXdbVbScbgabVTdZYSbceg',
  'WbYYVWXVdiZUXUUcZXWXbaaSXiYfg',
  'YcSUWrdPfVUNSOfQgPQWfkKgRdXYS',
  'SgWgggggUgggYVVWgggTVgggbgggg',
] as const

/** A capital after a capital. */
export const CAPITAL_PAIRS = [
  'iPYWecIifgfPUMfYePTRacbaIr',
  'dkcbZfZfhUhPZblgeeTccidfbl',
  'XcbWWdbeckOTakYVkbYKigffZj',
  'YnggXigjgkfbchcflafhklnmUm',
  'ZkebfZTeltjYcYgadTVPpcZWSb',
  'TbWcdeYeXndZWdYfqadWhdbgdp',
  'fZZfkn-SqreblYogsabkmgkhdn',
  'aecdXhc-hegbddfaeagJuffdff',
  'ZRVRTGSbQTbPTMQOhZQNfTbVhZ',
  'degXUYYfq-PgcaWSgcRdgaTmgi',
  'haddbeZklm-ThXofpcechhhleo',
  'hahdYfgfhqhdflfdslcejaekeu',
  'WVkcPicijijZYdcVdebbijbgdu',
  'geaeadUooleckwefsdWVdZkffn',
  'cccTaSKcifVSSMbOjOVRYZQObm',
  'caeOYcdfZieZcZbmZbcbcfajXs',
  'YWaWSebXZibPVVgV-RYZeSoefh',
  'gjdZWgafcjfgcXZVviYcngihUu',
  'jeceZjYcgmidagfcfgYYZhYleo',
  'eXfbWbfYnhMWcdgZsadgkibhad',
  'dZfWBUIbFdaKVNeTmJQP0VZdce',
  'daZUSbVeambYXbkZjbWUk-Cahm',
  'fiicbefYWhbWccadobdane-Vbn',
  'ieeYZcgggigbOYlbmhaZmfgWJf',
  'hjkfhmgjqqgRZZlTvmXgnqemie',
  'ZegWUTTbgdZYcYZdfYTXbfUWU-',
] as const

/** How far into the word a letter stands. */
export const LETTER_PLACES = ['WeYXYZZZZZZZZbZcWYcdRfRc'] as const

/** A single sign right before a word, in the order of ASCII; the last: any other. */
export const WORD_PREFIXES = ['pcRedTYQedeTUNVacZZcceZgkkLeZgnfZ'] as const

/** First sign of a run: alone, then after a space. */
export const SIGN_STARTS = ['NLAXJYMJOFNLLDFJHRENQXXVTUDQZWUP', 'TFPHJAKMTMSWHOFTPCTHASSTUWNJOHUH'] as const

/** A sign after a sign; the last column: a line end after it. */
export const SIGN_PAIRS = [
  'RUhRmhXSbmhYJYSGghRojhYbchShhjhgR',
  'lbZVTAbiVWaNWWWTVcgaifgceeWdkiifP',
  'fdMmVhZhhwhZdbaghnhbhhhpthhXhfhiW',
  'kdg-lkbaXchfhORhAhhhoqhNooUhPehhK',
  'hZbpbhYbcqWcccZlhncmhhksZhrhgphhV',
  'hVTbh-ehXhhhhhhhPhehhhhhhhKhjhhhL',
  'eZTZYafaUQVPQQTWVfVZbcdXbdFidejZS',
  'XOaSYeXaSTZZNURYhZJWZUPZhURQVkhYU',
  'VWhcXhaXVSMRPQSQRdYYYhYSchSZXjfhN',
  'fjhichkiaTkZXZRllmgecxgimhfjldkhZ',
  'hThbknWXmhEaQfXYjhThjhVWYhwkhehhF',
  'jZbaahXhehZ-NTVUhbphfbValVhhdhmoO',
  'hYhgfhddjaZAZXbhVqbYkogffhdhdehhA',
  'lbhhiYdiaZGcXTXiRWemhheddhblehdhQ',
  'jfbggdZglRgaiDTorLhddcidchWicW0hT',
  'iUXRbAZddRhjJaVXfeJohhRcdhQfVVhrS',
  'hehajMehehhhhgbhdf6hhhhbhhhrhvhhJ',
  'MhTQihWYhbhWaWKhhaVYUsRdhhThXchLS',
  'hUhRbRWVrjtbbihZhWARaiYXshhWPvqRN',
  'gYNgbYaTZVhXXYaaaNebdhZXchaXOahhK',
  'RXhchfScUhfXeRhUhcdWshmXihhghhhhR',
  'eahWahZhhhhhfhhhjhdehwhlhdZhehhhK',
  'ULbTMhNThWTTSSTLeidhhcvURSTQdhhhP',
  'cSqYceXVaSbVSQRWXeXVhcfbYUblddigR',
  'UWWhhhXSORSJIUSQQYAUUhPSdhhbTUZhK',
  'nZObhhZZbUhrZMYchhVhhhTZh5EhQthhP',
  'hjhShhjggehZcZedNchmhhmhqhPpghshX',
  'misUcmccXdmUhSdYYfmdnpimTrdbdehpS',
  'cOhOUhXhhTejVYahhQhhhQSThhmh-aZhN',
  'hThiehYaahrbRWdpVqMhhhdULnNXhf5cM',
  'hRhOhhSVNTYGJHNPKOZVLhZRVhKONTkhD',
  'hfhhmhhhghhhhhoidhhnhhhahhhhhkhAk',
] as const

/** How far into the run a sign stands; the last: a further line end. */
export const SIGN_PLACES = ['WefeddafhXfa'] as const

/**
 * Costs letter by letter of the scripts with few of them, in sixteenths of a token (`ABC…+-`, A = −22), from `from` on: as the first
 * of a word, then as a further one. Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, kana.
 */
export const LETTER_COSTS = [
  {
    from: 0x0370,
    first:
      'bbbbbbbbbbbbbbbbWWWWWWRWYmhWTWuWWchZVZkVgbWdhhWYZeWdUfmXtWWWSSIGWJPNMLXQJNPUJSVKHfWHNETAiIWWNZBWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW',
    further:
      '6666666666666666eeeeeeeeeeeeeeeeefsjrneknhloplekhjeeljtmcreedggbeZlekbkbeXjfecmbbdcfcddenclefggeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  },
  {
    from: 0x0400,
    first:
      'YYYYeYmYkYYYYYYYccbfaRVZcickebUbacYZddfcjiYYYTWXOMPOPRTPMRMTOSKNNNOMKWTRTWYYYIhNYYYYZYYSVflWY2YYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYhhhhhhhhhhhhhhhhhhhhhhhhhhjhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh',
    further:
      'dptdddodr4+8ddddbjmmifqkgghjhebkffhkphpmihkgddtjbbbcbZZaZbeaabXcbYZddbbbbZmWUaZXdfzdkdjdmspsdddyddddddddddddddddddddddddddddddddmmmmmmmmmmmmmmmmm-mzmmmmmmmjmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm',
  },
  {
    from: 0x0590,
    first:
      'ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddPQWXRTSTbSwQNrPsPWPyRlSXXSXddddddddddddddddddddd',
    further:
      'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaeeifcblehbfhdadcefcceogfcccaaaaaaaaaaaaaaaaaaaaa',
  },
  {
    from: 0x0600,
    first:
      'VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVOPVJVFJVLOQOOKOOPRNOIJKKLVVVVVVSPOOPOIMVKVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVMVVVVVVVTVVVVVVVVVVVVVVJVVXVVVVVVVVVVVVVVVVLVVVVVLVVVVVVVVVVVVVVVVVVVVVVVVVVVVIVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV',
    further:
      'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeZmfibabdbccfcabgchffeggfbjeeeeemgefcbcceZddejpouo5eleeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeepejjjjjjpjjjjjjjjjjjjjjmjjnjjjjjjjjjjjjjjjjhjjjjjejjjjjtjjjjjjjjjjjjjjjj2jjjjjdj2jjjjjjqjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj',
  },
  {
    from: 0x0900,
    first:
      'TTTTTJIHVETPTpTJQETTRGOMJTMUEJTTWNNTPTISBTEPKFJFKTITTLMTDETTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTlTTTTTTTTTTTTT',
    further:
      'fkdofsogjdsffffctmfrfggevfihmvnkiqredbiggfgpjhhdbofqfigchdffYfacffeifzfcklfgZXffffffffffffffff3fffffffffffffffffffffffffffffffff',
  },
  {
    from: 0x0e00,
    first:
      'WRKWSWWWFJRVWWWWWWWWNIXIWSYQPQTJZSOGWcWOiWKJWUiWWWWWWWWWWWWWWWWWIQOOKWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW',
    further:
      'ehdelesahmfkeveqpd-hdfZjjfeef8fkXaceAcebgoceefueedcaeecUdXeeeeeefiehheoaXWbejeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  },
  {
    from: 0x3040,
    first:
      'aaUabaaaaaXYUaaaaaaJaPaRafaaaMasSaaaYaSfVXbVaaWXaaaaaaaabaaRaaTabbdbobbbjpbYubbbbbVbbbbbbbbbbbbbbbSbKbWbVbTdbUbPbbbRQVbYeXbThPbgdYbbXbQVcUbbvLXWbccZeRbToXKWafUgbZObbbibbWVliNbLbbbbbbbbbbbbbbbb',
    further:
      'g7Pgeghgognjkf8g0roftcgctcqdgfcePpghmlcfgklm-vmjcg1xgg7gizgeggagmlhgrg0gflhikjgjggmfgggggggggggggbfhbgjjnbhnxkgcjgjesiikmiZjxkygilgdfgkgdenfghtgomeYWgfeldajvrnldkmegWecghhilhghggggggggggggfggg',
  },
] as const
