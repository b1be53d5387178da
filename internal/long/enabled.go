//go:build long

package long

// Enabled reports whether the tests were built with `-tags long`.
const Enabled = true
