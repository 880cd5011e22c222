/** Widget: a picture of a notebook answers to mouse and keys. The HTML was escaped where it was made. */

const MOST_ZOOM = 8

function make(name, attributes = {}, ...children) {
  const found = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value)
  found.append(...children)
  return found
}

function button(label, press) {
  const found = make('button', { type: 'button' }, label)
  found.addEventListener('click', () => press(found))
  return found
}

/** Zoom by buttons and move by dragging; the wheel stays with the notebook. */
function addZoom(svg, tools) {
  const [left, top, width, height] = svg.getAttribute('viewBox').split(' ').map(Number)
  const view = { x: left, y: top, scale: 1 }
  const show = () => svg.setAttribute('viewBox', `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`)
  const zoom = (factor) => {
    const scale = Math.min(MOST_ZOOM, Math.max(1, view.scale * factor))
    view.x += (width / view.scale - width / scale) / 2
    view.y += (height / view.scale - height / scale) / 2
    view.scale = scale
    if (scale === 1) Object.assign(view, { x: left, y: top })
    show()
  }
  const closer = button('+', () => zoom(1.5))
  closer.setAttribute('aria-label', 'Closer')
  const farther = button('−', () => zoom(1 / 1.5))
  farther.setAttribute('aria-label', 'Farther')
  tools.append(closer, farther, button('Fit', () => zoom(0)))
  svg.addEventListener('pointerdown', (event) => {
    if (event.target.closest('[data-node]') || view.scale === 1) return
    svg.setPointerCapture(event.pointerId)
    const start = { x: event.clientX, y: event.clientY, at: { ...view } }
    const unit = width / view.scale / svg.getBoundingClientRect().width
    const move = (to) => {
      view.x = start.at.x - (to.clientX - start.x) * unit
      view.y = start.at.y - (to.clientY - start.y) * unit
      show()
    }
    svg.addEventListener('pointermove', move)
    svg.addEventListener('pointerup', () => svg.removeEventListener('pointermove', move), { once: true })
  })
}

/** Choose a node: what is not its neighbourhood is dimmed, and what is known about it is shown. */
function addChoice(svg, part, details) {
  const nodes = [...svg.querySelectorAll('[data-node]')]
  const edges = [...svg.querySelectorAll('[data-source]')]
  const about = make('div', { class: 'about-node', role: 'status', hidden: '' })
  part.append(about)
  let chosen = null
  const choose = (key) => {
    chosen = chosen === key ? null : key
    const near = new Set([chosen])
    for (const edge of edges) {
      const { source, target } = edge.dataset
      const isNear = chosen === null || source === chosen || target === chosen
      edge.classList.toggle('far', !isNear)
      if (isNear && chosen !== null) near.add(source).add(target)
    }
    for (const node of nodes) {
      node.classList.toggle('far', chosen !== null && !near.has(node.dataset.node))
      node.setAttribute('aria-pressed', String(node.dataset.node === chosen))
    }
    const known = chosen === null ? undefined : details[chosen]
    about.hidden = known === undefined
    if (known === undefined) return
    const list = make('dl')
    for (const [name, value] of Object.entries(known)) list.append(make('dt', {}, name), make('dd', {}, value))
    const title = nodes.find((each) => each.dataset.node === chosen)?.dataset.label ?? chosen
    about.replaceChildren(make('b', {}, title), list)
  }
  for (const node of nodes) {
    node.setAttribute('tabindex', '0')
    node.setAttribute('role', 'button')
    node.setAttribute('aria-pressed', 'false')
    node.addEventListener('click', () => choose(node.dataset.node))
    node.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault()
        choose(node.dataset.node)
      } else if (event.key === 'Escape' && chosen !== null) choose(chosen)
    })
  }
  svg.setAttribute('role', 'group')
}

/** Show some changes: those of one kind, of one type, or with a text in them. */
function addFilter(table, tools) {
  const changes = [...table.querySelectorAll('tbody[data-type]')]
  const wanted = { kind: null, type: null, text: '' }
  const count = make('span', { class: 'soft small', role: 'status' })
  const show = () => {
    let shown = 0
    for (const each of changes) {
      const isShown =
        (wanted.kind === null || each.classList.contains(wanted.kind)) &&
        (wanted.type === null || each.dataset.type === wanted.type) &&
        each.textContent.toLowerCase().includes(wanted.text)
      each.hidden = !isShown
      each.style.display = isShown ? '' : 'none'
      shown += Number(isShown)
    }
    count.textContent = shown === changes.length ? '' : `${shown} of ${changes.length}`
  }
  const choice = (field, value, label) => {
    const found = button(label, () => {
      wanted[field] = wanted[field] === value ? null : value
      for (const each of tools.querySelectorAll(`[data-field="${field}"]`)) each.setAttribute('aria-pressed', String(each.dataset.value === wanted[field]))
      show()
    })
    found.dataset.field = field
    found.dataset.value = value
    found.setAttribute('aria-pressed', 'false')
    return found
  }
  const kinds = [['added', '+ added'], ['removed', '− removed'], ['changed', '~ changed']]
  for (const [kind, label] of kinds) if (changes.some((each) => each.classList.contains(kind))) tools.append(choice('kind', kind, label))
  const types = [...new Set(changes.map((each) => each.dataset.type))]
  if (types.length > 1) for (const type of types) tools.append(choice('type', type, type))
  const box = make('input', { type: 'search', placeholder: 'A part of it', 'aria-label': 'Show changes with this text' })
  box.addEventListener('input', () => {
    wanted.text = box.value.toLowerCase()
    show()
  })
  tools.append(box, count)
}

function render({ model, el }) {
  const draw = () => {
    const tools = make('div', { class: 'tools' })
    const part = make('div', { class: 'omnigraph part' })
    part.innerHTML = model.get('html')
    part.prepend(tools)
    const svg = part.querySelector('svg.diagram')
    const table = part.querySelector('table.diff')
    if (svg !== null) {
      addZoom(svg, tools)
      addChoice(svg, part, model.get('details'))
    }
    if (table !== null) addFilter(table, tools)
    if (!tools.hasChildNodes()) tools.remove()
    el.replaceChildren(part)
  }
  draw()
  model.on('change:html', draw)
  return () => model.off('change:html', draw)
}

export default { render }
