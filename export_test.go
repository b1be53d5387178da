package chime

// EncodeBody lets tests outside the package enqueue without an Enqueuer.
func EncodeBody(name string, maxAttempts int) []byte {
	e := envelope{name: name, maxAttempts: maxAttempts}
	return e.encode()
}

// Next works out an owed schedule's placement, as workers and the ticker do.
func Next(o Owed) (Placement, error) {
	var c plans
	p, err := c.of(o.Name, o.Definition)
	if err != nil {
		return Placement{}, err
	}
	return p.next(o), nil
}
