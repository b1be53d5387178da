// Package guard is what stands before every page of the dashboard: the headers that tell a browser what a page may do, and how much one viewer may
// ask for.
package guard

import "net/http"

// policy is the Content-Security-Policy of every answer: all comes from the dashboard itself, scripts write no HTML but through the
// policy "chime", and no other page may frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types chime"

// SetHeaders sets what every answer has. What may be kept, assets alone, sets another Cache-Control.
func SetHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY") // frame-ancestors, for browsers before 2017
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}
