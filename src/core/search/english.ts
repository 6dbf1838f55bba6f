/* English words that the search treats specially. Data only. */

const list = (text: string): string[] => text.trim().split(/\s+/)

/** Words that occur in most messages and don't indicate their subject; they are not indexed. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  list(`
  a an the this that these those it its i me my mine myself we us our ours ourselves you your yours yourself
  yourselves he him his himself she her hers herself they them their theirs themselves itself
  am is are was were be been being do does did doing done have has had having will would shall should can could may
  might must cannot
  and or but nor so if then else than as of at by for with about into through during to from in out on off over
  under again there here when where why how what which who whom whose both each few more most other some such only
  own same too very just not no yes
  im ive id ill youre youve youd youll hes shes theyre theyve theyd theyll weve wed were thats theres whats lets
  dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt werent hasnt havent hadnt aint
  also any because between while up down until after before upon s t re ve ll d m st nd rd th
  oh hey hi hello wow yeah ok okay please thanks thank well really much many lot lots
`),
)

/** Forms that no rule for endings reduces to their base form: `went` is indexed as `go`. */
export const IRREGULAR: ReadonlyMap<string, string> = new Map(
  `
  go went gone; buy bought; see saw seen; get got gotten; make made; take took taken; give gave given; come came
  know knew known; think thought; find found; leave left; feel felt; bring brought; begin began begun; keep kept
  hold held; write wrote written; meet met; run ran; pay paid; speak spoke spoken; lie lay lain; lead led; read
  grow grew grown; lose lost; fall fell fallen; send sent; build built; draw drew drawn; break broke broken
  spend spent; drive drove driven; wear wore worn; choose chose chosen; win won; teach taught; catch caught
  sell sold; tell told; say said; become became; fly flew flown; swim swam swum; sing sang sung; sleep slept
  eat ate eaten; drink drank drunk; ride rode ridden; rise rose risen; throw threw thrown; forget forgot forgotten
  hide hid hidden; hear heard; mean meant; stand stood; understand understood; fight fought; seek sought; steal stole stolen
  shoot shot; shake shook shaken; wake woke woken; wind wound; sit sat; stick stuck; strike struck; dig dug
  hang hung; light lit; shine shone; feed fed; deal dealt; dream dreamt; learn learnt; bend bent; lend lent
  freeze froze frozen; bite bitten; blow blew blown; swear swore sworn; tear tore torn; bind bound; show shown
  child children; man men; woman women; foot feet; tooth teeth; mouse mice; goose geese
  wife wives; knife knives; half halves; shelf shelves; wolf wolves; loaf loaves
  index indices; matrix matrices; analysis analyses; dive dove
  die died dying; tie tied tying; baby babies; ski skied skiing; focus focused; bus buses; gas gases
  `
    .trim()
    .split(/[;\n]/)
    .flatMap((line) => {
      const [base, ...forms] = line.trim().split(/\s+/)
      return forms.map((form): [string, string] => [form, base!])
    }),
)

/** Groups of related words, one per line: a search for one also finds the others. */
export const MEANINGS: readonly string[] = `
  job work career profession occupation position
  kid child son daughter
  mom mother
  dad father
  parent mother father
  wife husband spouse partner
  brother sister sibling
  pet dog cat puppy kitten
  movie film
  photo picture photograph image
  buy purchase order
  car vehicle
  trip travel vacation holiday journey
  house home apartment
  doctor physician medical
  illness sick disease
  begin start
  finish complete end
  error failure exception fail
  bug defect issue
  fix repair solve
  delete remove
  create add make
  change modify update edit
  town city
  country nation
  gift present
  meal food dinner lunch breakfast
  exercise workout gym
  hobby interest pastime
  color colour
  happy glad joy
  sad upset
  afraid fear scared
  money cash price cost
  book novel
  band music song concert
  school college university
  degree study graduate major
  marry wedding
  live reside
  name call
  like love enjoy favorite favourite
  big large huge
  fast quick speed
  advice suggestion recommend recommendation
  competition contest tournament
  phone mobile
  flight plane airline
  refund money reimburse
  lawyer attorney
  boss manager
  colleague coworker
  friend buddy pal
  baby infant newborn
  beach ocean sea
  hike trail
  instrument guitar piano violin drum
  sport soccer basketball football tennis
  wallet purse
  shop store
  garden plant flower
  cook recipe bake
  concert gig
  smart clever
  injury hurt
  argue argument quarrel
  quit resign
  hire recruit
  promotion promote
  destress relax unwind
  proud pride
  cancel cancellation
`
  .trim()
  .split('\n')

/** Words of questions that hardly indicate the subject. */
export const GENERAL_WORDS = `
  kind type sort thing mention say describe think feel recent recently way name call different new like various many much time year day
  participate happen become use person people specific particular example discuss tell share talk describe explain
  item stuff type part
`

/** Words in a text that names a time, which a question that begins with "when" seeks. */
export const TIME_WORDS = `
  yesterday today tomorrow tonight ago last next week weekend month year day morning afternoon evening night recently soon
  monday tuesday wednesday thursday friday saturday sunday
  january february march april june july august september october november december
  now earlier date birthday anniversary spring summer autumn fall winter since
`

/** A question about a time, including Chinese, Japanese and Korean ones. */
export const ASKS_TIME =
  /\b(?:when|what (?:time|date|day|month|year)|which (?:date|day|month|year)|how long ago|since when|how long)\b|什么时候|何时|几号|いつ|언제/i

/** A question about something that the assistant wrote. */
export const ABOUT_OWN_ANSWER =
  /\b(?:(?:did|have|had|were|was) you|you (?:told|gave|recommended|suggested|mentioned|said|provided|listed|explained|wrote|proposed)|your (?:answer|suggestion|recommendation|list|plan|reply))\b/i
