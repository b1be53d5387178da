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

// ReadPages sets the number of schedules in a call of the collector that Metrics.Store returned.
func ReadPages(store prometheus.Collector, size int) prometheus.Collector {
	store.(*storeCollector).reader.walker.pageSize = size
	return store
}

// CountGroups sets how many groups the collector that Metrics.Store returned counts between two pauses, about.
func CountGroups(store prometheus.Collector, step int64) prometheus.Collector {
	store.(*storeCollector).reader.groups.stepGroups = step
	return store
}

// CountBatches sets how many batches the collector that Metrics.Store returned reads between two pauses.
func CountBatches(store prometheus.Collector, step int) prometheus.Collector {
	store.(*storeCollector).reader.batches.stepBatches = step
	return store
}

// Labels and Help return the labels and the help of a metric.
func Labels(name string) []string { return labelsOfAny(name) }
func Help(name string) string     { return helpOf(name) }

func labelsOfAny(name string) []string {
	if byName[name] == nil {
		return nil
	}
	return byName[name].labels
}
