package render

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/format"
)

// A look is the colour and the icon of a state. A page always shows the word too, so neither is needed to read it.
type look struct{ tone, icon string }

// looks has the looks of the states of schedules, queues, jobs, batches, runs and workers.
var looks = map[string]look{
	"live":         {"ok", "play"},
	"running":      {"run", "play"},
	"taken":        {"run", "play"},
	"done":         {"ok", "check"},
	"completed":    {"off", "check"},
	"open":         {"late", "hourglass"},
	"ended":        {"fail", "x"},
	"waiting":      {"off", "hourglass"},
	"delayed":      {"off", "hourglass"},
	"snoozed":      {"off", "hourglass"},
	"retrying":     {"late", "rotate-ccw"},
	"returned":     {"off", "rotate-ccw"},
	"paused":       {"paused", "pause"},
	"parked":       {"paused", "pause"},
	"queue paused": {"paused", "pause"},
	"late":         {"late", "triangle-alert"},
	"stuck":        {"late", "triangle-alert"},
	"no worker":    {"late", "triangle-alert"},
	"interrupted":  {"late", "triangle-alert"},
	"full":         {"late", "triangle-alert"},
	"missed":       {"late", "circle-dashed"},
	"skipped":      {"off", "circle-dashed"},
	"expired":      {"late", "circle-dashed"},
	"superseded":   {"off", "circle-dashed"},
	"cancelled":    {"off", "x"},
	"failing":      {"fail", "x"},
	"failed":       {"fail", "x"},
	"dead":         {"fail", "x"},
	"crashed":      {"late", "triangle-alert"},
	"lost":         {"fail", "x"},
	"gone":         {"off", "circle-dashed"},
	"idle":         {"off", "circle-dashed"},
	"draining":     {"late", "hourglass"},
	"not kept":     {"off", "circle-dashed"},
	"no record":    {"late", "circle-dashed"},
	"unread":       {"late", "triangle-alert"},
}

// unknown is the look of a state that a newer version has stored.
var unknown = look{"late", "triangle-alert"}

func toneOf(word string) string { return cmp.Or(looks[word], unknown).tone }
func iconOf(word string) string { return cmp.Or(looks[word], unknown).icon }

// mark returns the attribute data-n, which names the numbers inside an element in their order: {{n "dead" .Name}} is the number of dead jobs of a queue,
// {{n "busy" "" "slots"}} are two numbers of all queues. A test compares each named number of each page with the number that it counts itself.
func mark(names ...string) template.HTMLAttr {
	var all []string
	for pair := range slices.Chunk(names, 2) {
		all = append(all, strings.TrimSpace(strings.Join(pair, " ")))
	}
	return template.HTMLAttr(` data-n="` + template.HTMLEscapeString(strings.Join(all, "|")) + `"`)
}

// count and plural take any kind of integer.
func count(number any) (string, error) {
	n, err := whole(number)
	return format.Count(n), err
}

func plural(number any, one, many string) (string, error) {
	n, err := whole(number)
	return format.Plural(n, one, many), err
}

func whole(number any) (int64, error) {
	n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot count %v: it is not a whole number", number)
	}
	return n, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
