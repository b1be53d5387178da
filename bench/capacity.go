package main

import (
	"fmt"
	"math"
	"strings"
)

// plannedShare is the share of a core that a plan may use: the rest is a reserve for bursts, snapshots and surprises.
const plannedShare = 0.7

// plannedGiB is how many GiB of data a plan gives to one node.
const plannedGiB = 40

// forked is a node's RAM in multiples of its data: while a fork writes a snapshot or an append-only file, the data that changes is copied, at worst
// all of it.
const forked = 2

// The example of slots: jobs a second, and the seconds that each handler takes.
const exampleRate, exampleSeconds = 500, 0.020

// A source is a figure of chime that a plan is calculated from.
type source struct{ measure, figure string }

// planned is a row of the plan, calculated from figures of chime or from constants alone.
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
	millionInBatches = source{"schedules 1000000", "an occurrence in batches"}
	millionToFew     = source{"schedules 1000000", "an occurrence in batches to one of 1000"}
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

// billionNodes is the number of nodes for a billion schedules, from the size of a schedule without its part of the registry, which is on another node.
func billionNodes(values []float64) float64 {
	return math.Ceil(billionGiB(values[0]-values[1]) / plannedGiB)
}

// billionHeld is how many of a billion schedules one node holds.
func billionHeld(values []float64) float64 { return 1e9 / billionNodes(values) }

// heldCost is the server CPU of an occurrence in batches on a node of a billion schedules. From a thousand to a million schedules it
// grew by a factor, measured in the same minutes; from there to what a node holds it grows on as the logarithm of their number.
func heldCost(values []float64) float64 {
	million, growth := values[0], values[1]
	few := million / growth
	return million + (million-few)*math.Log10(billionHeld(values[2:])/1e6)/3
}

// occurrencesNodes is the number of nodes for the occurrences of a billion schedules with a period in seconds.
func occurrencesNodes(apart float64) func([]float64) float64 {
	return func(values []float64) float64 { return math.Ceil(1e9 / apart / perCore(heldCost(values))) }
}

// namesHeld is how many names the registry of one namespace holds. The registry is one key, which a cluster cannot divide.
func namesHeld(bytes float64) float64 { return plannedGiB * perGiB(bytes) }

// slots is how many handlers run at once on average, by Little's law: the arrivals a second, times the seconds of a handler.
func slots(perSecond, seconds float64) float64 { return perSecond * seconds }

var (
	billion            = []source{scheduleBytes, registryBytes}
	billionOccurrences = []source{millionInBatches, millionToFew, scheduleBytes, registryBytes}
)

var plan = []planned{
	{"jobs/s through one Redis, enqueued and worked off in batches", []source{lifeCPU}, first(perCore)},
	{"… MB/s on its network then, with 100 bytes of payload", []source{lifeCPU, lifeNetwork}, func(v []float64) float64 { return perCore(v[0]) * v[1] / 1e6 }},
	{"jobs/s through one Redis, each enqueued and taken alone", []source{aloneCPU}, first(perCore)},
	{"jobs/s that a worker's core takes and settles, besides their handlers", []source{workerCPU}, first(perCore)},
	{"jobs/s that an enqueuing core sends in bulk", []source{enqueuerCPU}, first(perCore)},
	{fmt.Sprintf("slots (Concurrency of all workers together) for %d jobs/s whose handlers take %.0f ms: %.0f run at once, 70 %% of them", exampleRate,
		1000*exampleSeconds, slots(exampleRate, exampleSeconds)), nil, func([]float64) float64 { return math.Ceil(slots(exampleRate, exampleSeconds) / plannedShare) }},
	{"waiting jobs in a GiB, with 100 bytes of payload", []source{waitingBytes}, first(perGiB)},
	{"delayed jobs in a GiB, likewise", []source{delayedBytes}, first(perGiB)},
	{"GiB of RAM for 10,000,000 waiting jobs, with room for a fork's copy", []source{waitingBytes}, first(func(bytes float64) float64 { return forked * 1e7 / perGiB(bytes) })},
	{"schedules in a GiB, with a definition of 250 bytes", []source{scheduleBytes}, first(perGiB)},
	{"occurrences/s through one Redis, in batches, with 1,000,000 schedules", []source{millionInBatches}, first(perCore)},
	{"occurrences/s through one Redis, each alone, with 1,000,000 schedules", []source{millionAlone}, first(perCore)},
	{"a billion schedules: memory without the registry, GiB", billion, func(v []float64) float64 { return billionGiB(v[0] - v[1]) }},
	{fmt.Sprintf("… nodes of %d GiB of data each", plannedGiB), billion, billionNodes},
	{"… GiB of RAM in each, with room for a fork's copy", billion, func([]float64) float64 { return forked * plannedGiB }},
	{"… schedules on each", billion, billionHeld},
	{"… partitions to set (redisstore.Options.Partitions), for twice as many nodes", billion, func(v []float64) float64 { return 2 * billionNodes(v) }},
	{"… server CPU of an occurrence there, in batches, extrapolated, µs", billionOccurrences, heldCost},
	{"… nodes for their occurrences, if each runs once an hour", billionOccurrences, occurrencesNodes(3600)},
	{"… nodes, if each runs once a day", billionOccurrences, occurrencesNodes(86400)},
	{"… the registry of names, GiB", []source{registryBytes}, first(billionGiB)},
	{fmt.Sprintf("… names that one namespace's registry holds in %d GiB, a node of its own", plannedGiB), []source{registryBytes}, first(namesHeld)},
	{"… so many namespaces, each with a node for its registry", []source{registryBytes}, first(func(bytes float64) float64 {
		return math.Ceil(1e9 / namesHeld(bytes))
	})},
	{"… hours to declare them all from one process", []source{declaredRate}, first(func(perSecond float64) float64 { return 1e9 / perSecond / 3600 })},
	{"… hours to create them one by one, from one goroutine", []source{putRate}, first(func(perSecond float64) float64 { return 1e9 / perSecond / 3600 })},
}

// planTable has the plan. It omits rows whose figures are missing.
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
		if len(row.from) == 0 {
			names, measured = []string{"arithmetic"}, []string{"–"}
		}
		if len(values) == len(row.from) {
			t.rows = append(t.rows, []string{row.text, quantity(rounded(row.of(values))), strings.Join(names, "; "), strings.Join(measured, "; ")})
		}
	}
	return t
}

// planNotes list the assumptions of the plan.
func planNotes(all samples) string {
	notes := fmt.Sprintf("The plan uses %.0f %% of a core. RAM is twice the data, because a fork copies what is written meanwhile. Slots follow from Little's law: "+
		"jobs a second times the seconds that a handler takes.", 100*plannedShare)
	var values []float64
	for _, from := range billionOccurrences {
		s, ok := all.spreadOf(from.measure, from.figure, chimePeer.name())
		if !ok {
			return notes + " The rows of a billion schedules need what a name takes in the registry, which was not recorded."
		}
		values = append(values, s.median)
	}
	return notes + fmt.Sprintf(" Nobody here has run a billion schedules, or %s on a node: the cost of an occurrence there is extrapolated. From 1,000 to "+
		"1,000,000 schedules it grew %s; it is assumed to go on growing with the logarithm of their number. The registry, which says in which queue a schedule lives, "+
		"is one hash in one slot (`<namespace>:schedules`): its node limits a namespace, and more schedules need more namespaces.",
		quantity(rounded(billionHeld(values[2:]))), times(values[1]))
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

// rounded keeps two digits: a plan is not more exact.
func rounded(value float64) float64 {
	if value <= 0 {
		return value
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	return math.Round(value/unit) * unit
}
