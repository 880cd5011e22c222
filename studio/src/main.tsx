import { render } from 'preact'
import '../../omnigraph/look/tokens.css'
import './look/base.css'
import { App } from './shell/app.tsx'
import { Session } from './shell/session.ts'
import { startTheme } from './shell/theme.ts'

startTheme()
render(<App session={new Session(sessionStorage)} />, document.getElementById('studio') as HTMLElement)
