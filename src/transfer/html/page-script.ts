/** Conveniences, and nothing the page could not be read without: a filter by text, opening and closing all folds, open folds on paper. */
export const PAGE_SCRIPT = `
(() => {
  const root = document.documentElement
  const rows = [...document.querySelectorAll('.row')]
  const filter = document.getElementById('filter')
  const count = document.getElementById('count')
  const all = document.getElementById('all')
  const folds = () => document.querySelectorAll('main details')
  const setFolds = (open) => { for (const fold of folds()) fold.open = open }
  const apply = () => {
    const wanted = filter.value.toLowerCase()
    let found = 0
    for (const row of rows) {
      const fits = wanted === '' || row.textContent.toLowerCase().includes(wanted)
      row.classList.toggle('filtered', !fits)
      if (fits) found++
    }
    count.textContent = wanted === '' ? '' : found + ' of ' + rows.length
  }
  let waiting
  filter.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(apply, 120) })
  all.addEventListener('click', () => {
    const open = all.getAttribute('aria-pressed') !== 'true'
    setFolds(open)
    all.setAttribute('aria-pressed', String(open))
    all.textContent = open ? 'Fold everything' : 'Unfold everything'
  })
  addEventListener('beforeprint', () => setFolds(true))
  root.classList.add('js')
})()
`
