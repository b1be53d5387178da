//go:build !long

package long

// tagged reports whether the tests were built with `-tags long`.
const tagged = false
