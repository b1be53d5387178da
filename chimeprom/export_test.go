package chimeprom

// Kinds are the kinds of all metrics by their names.
func Kinds() map[string]string {
	all := make(map[string]string)
	for _, d := range definitions {
		all[d.name] = d.kind
	}
	return all
}
