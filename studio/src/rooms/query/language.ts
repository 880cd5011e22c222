/** Language: how the words of a query are coloured; the words come from the tables of the language itself. */

import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from '@codemirror/language'
import { tags } from '@lezer/highlight'
import words from './words.json'

const KEYWORDS = new Set(words.keywords)
const FUNCTIONS = new Set(words.functions)
const TYPES = new Set(words.types)

interface State {
  isInComment: boolean
}

function comment(stream: StringStream, state: State): string {
  state.isInComment = !stream.match(/^.*?\*\//)
  if (state.isInComment) stream.skipToEnd()
  return 'comment'
}

function token(stream: StringStream, state: State): string | null {
  if (state.isInComment) return comment(stream, state)
  if (stream.eatSpace()) return null
  if (stream.match(/^\/\/.*/)) return 'comment'
  if (stream.match('/*')) return comment(stream, state)
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
  if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
  if (stream.match(/^\$[A-Za-z_]\w*/)) return 'variableName'
  if (stream.match(/^@[A-Za-z_]\w*/)) return 'meta'
  if (stream.match(/^\.[A-Za-z_]\w*/)) return 'propertyName'
  const word = stream.match(/^[A-Za-z_]\w*/)
  if (word !== null && typeof word === 'object') return classify(word[0], stream)
  stream.next()
  return null
}

function classify(word: string, stream: StringStream): string | null {
  if (FUNCTIONS.has(word) && stream.match(/^\s*\(/, false)) return 'function'
  if (KEYWORDS.has(word)) return 'keyword'
  if (TYPES.has(word) || /^[A-Z]/.test(word)) return 'typeName'
  return null
}

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
  { tag: tags.string, color: 'var(--added)' },
  { tag: tags.number, color: 'var(--changed)' },
  { tag: tags.variableName, color: 'var(--type-0)' },
  { tag: tags.propertyName, color: 'var(--text)' },
  { tag: tags.meta, color: 'var(--soft)' },
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.function(tags.variableName), color: 'var(--type-7)' },
  { tag: tags.typeName, color: 'var(--type-3)' },
])

export const queryLanguage = [
  StreamLanguage.define<State>({
    name: 'gq',
    startState: () => ({ isInComment: false }),
    token,
    tokenTable: { function: tags.function(tags.variableName) },
    languageData: { commentTokens: { line: '//', block: { open: '/*', close: '*/' } }, closeBrackets: { brackets: ['(', '{', '[', '"'] } },
  }),
  syntaxHighlighting(COLOURS),
]
