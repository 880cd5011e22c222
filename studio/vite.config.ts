import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//

/** Write the licences of everything that ends up in the page beside it. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const folders = new Set<string>()
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue
        for (const id of chunk.moduleIds) {
          const folder = PACKAGE.exec(id.replace(/^\0/, ''))?.[1]
          if (folder !== undefined) folders.add(folder)
        }
      }
      const texts = [...folders].sort().map((folder) => {
        const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; version: string; license: string }
        const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
        if (file === undefined) throw new Error(`${about.name} has no licence`)
        return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
      })
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: texts.join(`\n${'-'.repeat(80)}\n\n`) })
    },
  }
}

// The page is built into the Python package, which serves it at /studio.
export default defineConfig({
  base: '/studio/',
  plugins: [licences()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../omnigraph/studio',
    emptyOutDir: true,
    // Data in addresses would need a weaker Content-Security-Policy.
    assetsInlineLimit: 0,
    target: 'es2023',
  },
  server: {
    // `npm run dev` beside a server.
    proxy: {
      '^/(?!studio/(?!session|config\\.json)).*': {
        target: process.env['OMNIGRAPH_SERVER'] ?? 'http://127.0.0.1:8080',
        changeOrigin: true,
        configure: (proxy) => proxy.on('proxyReq', (request) => request.removeHeader('origin')),
      },
    },
  },
})
