/** The style of the page. Colours keep a contrast of 4.5 to 1 at least on their grounds, in light and in dark. */
export const PAGE_STYLE = `
:root { color-scheme: light dark;
  --ground: #fbfaf8; --paper: #ffffff; --ink: #1d1d1f; --soft: #5c5c66; --line: #dcd9d2; --code: #f3f1ec; --link: #0b57a4;
  --user: #0b57a4; --assistant: #7a3e9d; --tool: #2f6b3a; --system: #6b5300; --inserted: #9a3b12; --failed: #b3261e;
  --text: #3b76c4; --reasoning: #8d5bb0; --toolCalls: #c48a1a; --toolResults: #3f8f52; --media: #b34a72; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #16161a; --paper: #1f1f25; --ink: #ececf0; --soft: #a9a9b5; --line: #3a3a44; --code: #2a2a32; --link: #86b8f2;
  --user: #86b8f2; --assistant: #cfa2ea; --tool: #8fcf9c; --system: #dcc06a; --inserted: #f0a683; --failed: #ff9b92; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; }
.page { display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 2rem; max-width: 84rem; margin: 0 auto; padding: 1.5rem; }
.page > header { grid-column: 1 / -1; } h1 { margin: 0 0 .75rem; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .1rem .75rem; margin: 0; font-size: .875rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
header dl { grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .3rem 1.5rem; } header dl div { display: flex; gap: .5rem; } header dt { white-space: nowrap; }
.bar { display: block; width: 100%; height: .8rem; margin: 1rem 0 .4rem; border-radius: .4rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0; padding: 0; list-style: none; font-size: .8125rem; color: var(--soft); }
.legend svg { width: .7rem; height: .7rem; margin-right: .35rem; }
.text { fill: var(--text); } .reasoning { fill: var(--reasoning); } .toolCalls { fill: var(--toolCalls); }
.toolResults { fill: var(--toolResults); } .media { fill: var(--media); }
aside { font-size: .875rem; position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow: auto; }
aside section, aside nav { margin-bottom: 1.5rem; }
.tools { display: grid; gap: .5rem; margin-bottom: 1.5rem; } .tools label { display: block; }
.tools input[type=search], .tools button { width: 100%; font: inherit; padding: .35rem .6rem; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; }
.scripted { display: none; } .js .scripted { display: block; }
.timeline, .turns { list-style: none; margin: 0; padding: 0; }
.timeline > li { border-left: 3px solid var(--inserted); padding: .1rem 0 .6rem .75rem; } .timeline > li.past { border-color: var(--line); color: var(--soft); }
.timeline p { margin: .15rem 0; } .timeline dl { font-size: .8125rem; margin: .3rem 0; }
.turns a { display: block; padding: .15rem 0; text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .turns a:hover { text-decoration: underline; }
.turns .gone a { color: var(--soft); }
.row { background: var(--paper); border: 1px solid var(--line); border-left: 4px solid var(--soft); border-radius: .5rem; padding: .75rem 1rem; margin-bottom: 1rem; scroll-margin-top: 1rem; }
.row:target, .timeline > li:target { box-shadow: 0 0 0 3px var(--link); }
.row > header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .75rem; margin-bottom: .4rem; }
h3 { margin: 0; font-size: .95rem; } h3 a { color: inherit; text-decoration: none; } time, .flag, .why, .label, .media { font-size: .8125rem; color: var(--soft); }
.row.user { border-left-color: var(--user); } .user h3 { color: var(--user); } .row.assistant { border-left-color: var(--assistant); } .assistant h3 { color: var(--assistant); }
.row.tool { border-left-color: var(--tool); } .tool h3 { color: var(--tool); } .row.system { border-left-color: var(--system); } .system h3 { color: var(--system); }
.row.inserted { border-left-color: var(--inserted); border-style: dashed; border-left-style: solid; } .inserted h3 { color: var(--inserted); }
.row.hidden { background: transparent; color: var(--soft); border-style: dotted; border-left-style: solid; }
.flag { border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; } .why { margin: 0 0 .5rem; }
.gap { text-align: center; color: var(--soft); font-size: .875rem; }
body:has(#show-hidden:not(:checked)) .row.hidden:not(:target) { display: none; } .row.filtered { display: none; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; }
code, .said, .media { unicode-bidi: isolate; } code, pre { font: .84em/1.5 ui-monospace, monospace; } .said code, .label code, summary code { background: var(--code); border-radius: .25rem; padding: .05rem .3rem; }
pre { background: var(--code); border-radius: .4rem; padding: .6rem .8rem; margin: .4rem 0; overflow: auto; max-height: 40rem; } pre code { font-size: .84rem; }
.label { margin: .4rem 0 .2rem; } .label code, summary code { color: var(--ink); } .label .id, summary .id { color: var(--soft); }
details { margin: .4rem 0; } summary { cursor: pointer; font-size: .8125rem; color: var(--soft); } .failed { color: var(--failed); }
.reasoning > .said { color: var(--soft); border-left: 2px solid var(--line); padding-left: .75rem; } img { max-width: 100%; height: auto; border-radius: .4rem; }
@media (max-width: 60rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem; } aside { position: static; max-height: none; } .turns { max-height: 14rem; overflow: auto; } }
@media print { body { background: none; font-size: 11pt; } .page { display: block; max-width: none; padding: 0; } .tools, nav { display: none; } aside { position: static; max-height: none; }
  .row { background: none; break-inside: auto; } pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; } h3, .label { break-after: avoid; } }
`
