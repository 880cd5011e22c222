/** Editor: CodeMirror for queries, with problems, completion and meanings that the server and the schema give. */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, indentOnInput } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers, placeholder } from '@codemirror/view'
import type { Completions, Problem } from '../../api/shapes.ts'
import type { Meaning } from './hover.ts'
import { queryLanguage } from './language.ts'
import { toPoints, toUnits } from './offsets.ts'

export interface EditorEvents {
  change: (text: string) => void
  run: () => void
  complete: (text: string, position: number, signal: AbortSignal) => Promise<Completions>
  meaning: (text: string, at: number) => Meaning | null
}

const KINDS: Record<string, string> = { keyword: 'keyword', type: 'class', edge: 'interface', property: 'property', function: 'function', variable: 'variable', parameter: 'constant' }

const LOOK = EditorView.theme({
  '&': { backgroundColor: 'var(--page)', color: 'var(--text)', height: '100%', fontSize: '0.875rem' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--soft)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent-shade) 40%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-shade)', color: 'var(--accent)' },
  '.cm-placeholder': { color: 'var(--soft)' },
  '.cm-tooltip': { backgroundColor: 'var(--page)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '6px', maxWidth: 'min(480px, 90vw)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-shade)', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--soft)', fontStyle: 'normal' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--removed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--changed)' },
  '.cm-meaning': { padding: '6px 10px', whiteSpace: 'pre-wrap', fontFamily: 'var(--face)', fontSize: '0.8125rem' },
  '.cm-meaning b': { display: 'block', fontFamily: 'var(--mono)' },
})

export class QueryEditor {
  private readonly view: EditorView
  private readonly stop = new AbortController()

  constructor(host: HTMLElement, text: string, events: EditorEvents) {
    // Inside of a shadow root CodeMirror adopts style sheets, which a strict Content-Security-Policy allows.
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true })
    root.replaceChildren()
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: text, extensions: this.extensions(events) }),
    })
    this.view.dom.style.height = '100%'
  }

  get text(): string {
    return this.view.state.doc.toString()
  }

  setText(text: string): void {
    if (text === this.text) return
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } })
  }

  /** Show the problems of a text; of another text than this one they would stand in wrong places. */
  showProblems(text: string, problems: readonly Problem[]): void {
    if (text !== this.text) return
    this.view.dispatch(setDiagnostics(this.view.state, problems.map((each) => diagnostic(text, each))))
  }

  /** Put the cursor to a problem. */
  goTo(problem: Problem): void {
    const at = Math.min(toUnits(this.text, problem.start), this.view.state.doc.length)
    this.view.dispatch({ selection: { anchor: at }, scrollIntoView: true })
    this.view.focus()
  }

  close(): void {
    this.stop.abort()
    this.view.destroy()
  }

  private extensions(events: EditorEvents) {
    return [
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      autocompletion({ override: [(context) => this.complete(context, events)], activateOnTypingDelay: 120 }),
      hoverTooltip((view, at) => tooltip(events.meaning(view.state.doc.toString(), at))),
      placeholder('match { $p: Person } return { $p.name }'),
      keymap.of([{ key: 'Mod-Enter', run: () => (events.run(), true) }, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ 'aria-label': 'Query', 'aria-description': 'Escape, then Tab leaves the editor' }),
      EditorView.lineWrapping,
      EditorView.updateListener.of((update) => update.docChanged && events.change(update.state.doc.toString())),
      LOOK,
      ...queryLanguage,
    ]
  }

  private async complete(context: CompletionContext, events: EditorEvents): Promise<CompletionResult | null> {
    const before = context.matchBefore(/[$@.]?\w*$/)
    if (!context.explicit && (before === null || before.from === before.to) && !/[:.{(,]\s?$/.test(context.state.sliceDoc(Math.max(0, context.pos - 2), context.pos))) return null
    const text = context.state.doc.toString()
    const asking = new AbortController()
    context.addEventListener('abort', () => asking.abort())
    try {
      const found = await events.complete(text, toPoints(text, context.pos), AbortSignal.any([asking.signal, this.stop.signal]))
      return { from: toUnits(text, found.start), options: found.items.map(completion), validFor: /^[$@.]?\w*$/ }
    } catch (error) {
      if (asking.signal.aborted || this.stop.signal.aborted) return null
      // The room shows why the server does not answer; typing goes on without proposals.
      console.warn('no completion:', error)
      return null
    }
  }
}

function completion(item: Completions['items'][number]): Completion {
  return { label: item.label, apply: item.insert, type: KINDS[item.kind] ?? 'text', ...(item.detail === null ? {} : { detail: item.detail }) }
}

function diagnostic(text: string, problem: Problem): Diagnostic {
  const from = Math.min(toUnits(text, problem.start), text.length)
  const to = Math.min(Math.max(toUnits(text, problem.end), from), text.length)
  return { from, to, severity: problem.severity, message: problem.hint ? `${problem.message}: ${problem.hint}` : problem.message, source: problem.code }
}

function tooltip(meaning: Meaning | null) {
  if (meaning === null) return null
  return {
    pos: meaning.start,
    end: meaning.end,
    above: true,
    create: () => {
      const dom = document.createElement('div')
      dom.className = 'cm-meaning'
      const title = document.createElement('b')
      title.textContent = meaning.title
      dom.append(title, document.createTextNode(meaning.about))
      return { dom }
    },
  }
}
