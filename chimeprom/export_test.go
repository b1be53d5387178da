package chimeprom

// Kinds are the kinds of all metrics by their names.
func Kinds() map[string]string {
	all := make(map[string]string)
	for _, d := range definitions {
		all[d.name] = d.kind
	}
	return all
}

// Labels and Help are those of a metric.
func Labels(name string) []string { return labelsOfAny(name) }
func Help(name string) string     { return helpOf(name) }

func labelsOfAny(name string) []string {
	if byName[name] == nil {
		return nil
	}
	return byName[name].labels
}
