import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//

// Packages that end up in the page: workers are bundled apart, before the page that starts them.
const folders = new Set<string>()

/** Note the packages of a bundle. */
function packages(): Plugin {
  return {
    name: 'packages',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue
        for (const id of chunk.moduleIds) {
          const folder = PACKAGE.exec(id.replace(/^\0/, ''))?.[1]
          if (folder !== undefined) folders.add(folder)
        }
      }
    },
  }
}

/** Write the licences of all packages beside the page. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle() {
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
  plugins: [packages(), licences()],
  worker: { format: 'es', plugins: () => [packages()] },
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
