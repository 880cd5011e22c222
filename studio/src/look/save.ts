/** Save: hand something that the page made to the reader as a file. */

// The browser reads the file after the click; then its address is not needed any more.
const KEPT_MILLIS = 10_000

export function saveFile(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MILLIS)
}
