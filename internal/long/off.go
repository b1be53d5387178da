//go:build !long

package long

// Enabled says whether the build tag long is set.
const Enabled = false
