package main

import (
	"fmt"
	"math"
	"strings"
)

// share of a core that a plan may count on: the rest is for bursts, snapshots and what was not thought of.
const plannedShare = 0.7

// gibibytes of data that a plan gives to one node: what a machine of 64 GiB holds with room to fork.
const plannedGiB = 40

// A source is a figure of chime that a plan follows from.
type source struct{ measure, figure string }

// planned is what follows from figures of chime, in a reader's words.
type planned struct {
	text string
	from []source
	of   func(values []float64) float64
}

var (
	lifeCPU          = source{"life bulk", "server CPU a job"}
	aloneCPU         = source{"life steady", "server CPU a job"}
	lifeNetwork      = source{"life bulk", "network a job"}
	workerCPU        = source{"process 100", "client CPU a job"}
	enqueuerCPU      = source{"enqueue bulk", "client CPU a job"}
	waitingBytes     = source{"memory waiting", "memory a job"}
	delayedBytes     = source{"memory delayed", "memory a job"}
	scheduleBytes    = source{"schedules 1000000", "memory a schedule"}
	registryBytes    = source{"schedules 1000000", "of it the registry"}
	fewInBatches     = source{"schedules 1000", "an occurrence in batches"}
	millionInBatches = source{"schedules 1000000", "an occurrence in batches"}
	millionAlone     = source{"schedules 1000000", "an occurrence alone"}
	declaredRate     = source{"schedules 1000000", "declared"}
	putRate          = source{"schedules put", "created"}
)

func perCore(microseconds float64) float64 { return plannedShare * 1e6 / microseconds }

// first makes a function of the first value alone.
func first(of func(float64) float64) func([]float64) float64 {
	return func(values []float64) float64 { return of(values[0]) }
}

func perGiB(bytes float64) float64     { return (1 << 30) / bytes }
func billionGiB(bytes float64) float64 { return 1e9 * bytes / (1 << 30) }

// billionNodes is how many nodes hold a billion schedules, from what one takes and what of it is the registry's, which lies elsewhere.
func billionNodes(values []float64) float64 {
	return math.Ceil(billionGiB(values[0]-values[1]) / plannedGiB)
}

// occurrencesNodes is how many nodes run the occurrences of a billion schedules, so many seconds apart each. From a thousand to a
// million schedules the cost of one grew by a factor; from there to what a node holds it grows on as the logarithm of their number.
func occurrencesNodes(apart float64) func([]float64) float64 {
	return func(values []float64) float64 {
		few, million, held := values[0], values[1], 1e9/billionNodes(values[2:])
		cost := million + (million-few)*math.Log10(held/1e6)/3
		return math.Ceil(1e9 / apart / perCore(cost))
	}
}

var plan = []planned{
	{"jobs/s through one Redis, enqueued and worked off in batches", []source{lifeCPU}, first(perCore)},
	{"… MB/s on its network then, with 100 bytes of payload", []source{lifeCPU, lifeNetwork}, func(v []float64) float64 { return perCore(v[0]) * v[1] / 1e6 }},
	{"jobs/s through one Redis, each enqueued and taken alone", []source{aloneCPU}, first(perCore)},
	{"jobs/s that a worker's core takes and settles, besides their handlers", []source{workerCPU}, first(perCore)},
	{"jobs/s that an enqueuing core sends in bulk", []source{enqueuerCPU}, first(perCore)},
	{"waiting jobs in a GiB, with 100 bytes of payload", []source{waitingBytes}, first(perGiB)},
	{"delayed jobs in a GiB, likewise", []source{delayedBytes}, first(perGiB)},
	{"schedules in a GiB, with a definition of 250 bytes", []source{scheduleBytes}, first(perGiB)},
	{"occurrences/s through one Redis, in batches, with 1,000,000 schedules", []source{millionInBatches}, first(perCore)},
	{"occurrences/s through one Redis, each alone, with 1,000,000 schedules", []source{millionAlone}, first(perCore)},
	{"a billion schedules: memory without the registry, GiB", []source{scheduleBytes, registryBytes}, func(v []float64) float64 { return billionGiB(v[0] - v[1]) }},
	{fmt.Sprintf("… nodes of %d GiB of data each", plannedGiB), []source{scheduleBytes, registryBytes}, billionNodes},
	{"… partitions, were nodes to double once", []source{scheduleBytes, registryBytes}, func(v []float64) float64 { return 2 * billionNodes(v) }},
	{"… nodes for their occurrences, were each to run once an hour", []source{fewInBatches, millionInBatches, scheduleBytes, registryBytes}, occurrencesNodes(3600)},
	{"… nodes, were each to run once a day", []source{fewInBatches, millionInBatches, scheduleBytes, registryBytes}, occurrencesNodes(86400)},
	{"… the registry of names, GiB", []source{registryBytes}, first(billionGiB)},
	{"… namespaces, for a registry is one key on one node", []source{registryBytes}, first(func(bytes float64) float64 {
		return math.Ceil(billionGiB(bytes) / plannedGiB)
	})},
	{"… hours to declare them all from one process", []source{declaredRate}, first(func(perSecond float64) float64 { return 1e9 / perSecond / 3600 })},
	{"… hours to create them one by one, from one goroutine", []source{putRate}, first(func(perSecond float64) float64 { return 1e9 / perSecond / 3600 })},
}

// planTable says what follows from the figures; rows of which a figure was not measured are left out.
func planTable(all samples) table {
	t := table{heading: []string{"", "plan with", "from", "measured"}, numbers: []bool{false, true, false, true}}
	for _, row := range plan {
		var values []float64
		var names, measured []string
		for _, from := range row.from {
			s, ok := all.spreadOf(from.measure, from.figure, chimePeer.name())
			if !ok {
				break
			}
			values = append(values, s.median)
			names = append(names, from.measure+": "+labelOf(from.figure, all.unitOf(from.measure, from.figure)))
			measured = append(measured, quantity(s.median))
		}
		if len(values) == len(row.from) {
			t.rows = append(t.rows, []string{row.text, quantity(rounded(row.of(values))), strings.Join(names, "; "), strings.Join(measured, "; ")})
		}
	}
	return t
}

// unitOf is the unit of a figure.
func (s samples) unitOf(measure, figure string) string {
	for _, one := range s {
		if one.Measure == measure && one.Figure == figure {
			return one.Unit
		}
	}
	return ""
}

// rounded keeps two digits: a plan that pretends to know more deceives.
func rounded(value float64) float64 {
	if value <= 0 {
		return value
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	return math.Round(value/unit) * unit
}
