// Package guard protects every page of the dashboard. It sets the headers that limit what a page may do in a browser, and it limits the requests of a
// viewer.
package guard

import "net/http"

// policy is the Content-Security-Policy of every response. Everything comes from the dashboard itself, scripts write HTML only through the
// policy "chime", and no other page may frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types chime"

// SetHeaders sets the headers of every response. Only assets may be cached; they set another Cache-Control.
func SetHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY") // frame-ancestors, for browsers before 2017
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}
