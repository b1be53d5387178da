package chime

import "crypto/rand"

// newID returns a short name that sorts by the time it was made and cannot be guessed.
func newID() string { return rand.Text()[:13] }
