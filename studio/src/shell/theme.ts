/** Theme: light or dark, as the system says or as the reader chose. */

const KEY = 'omnigraph.theme'
const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const

export type Theme = keyof typeof NEXT

const isDark = matchMedia('(prefers-color-scheme: dark)')

export function currentTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

function apply(): void {
  const theme = currentTheme()
  document.documentElement.dataset['theme'] = theme === 'system' ? (isDark.matches ? 'dark' : 'light') : theme
  dispatchEvent(new Event('themechange'))
}

export function nextTheme(): Theme {
  localStorage.setItem(KEY, NEXT[currentTheme()])
  apply()
  return currentTheme()
}

export function startTheme(): void {
  isDark.addEventListener('change', apply)
  apply()
}
