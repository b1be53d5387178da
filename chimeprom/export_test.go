package chimeprom

import "github.com/prometheus/client_golang/prometheus"

// Kinds are the kinds of all metrics by their names.
func Kinds() map[string]string {
	all := make(map[string]string)
	for _, d := range definitions {
		all[d.name] = d.kind
	}
	return all
}

// ReadPages has what Metrics.Store returned read so many schedules in a call.
func ReadPages(store prometheus.Collector, size int) prometheus.Collector {
	store.(*storeCollector).reader.walker.pageSize = size
	return store
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
