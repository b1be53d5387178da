package chime

// EncodeBody lets tests outside the package enqueue without an Enqueuer.
func EncodeBody(name string, maxAttempts int) []byte {
	e := envelope{name: name, maxAttempts: maxAttempts}
	return e.encode()
}
