package chime

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every default in the README's table is the one in chime.go.
func TestReadmeDefaults(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "## Defaults")
	table, _, _ := strings.Cut(rest, "##")
	got := map[string]string{}
	for _, pair := range regexp.MustCompile("`([A-Za-z.]+)` \\| ([^|]+?) \\|").FindAllStringSubmatch(table, -1) {
		got[pair[1]] = strings.Trim(pair[2], "`")
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }
	power := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[defaultBackoffPower]
	want := map[string]string{
		"MaxAttempts":                 fmt.Sprintf("%d; of an occurrence %d", defaultMaxAttempts, defaultOccurrenceAttempts),
		"Backoff":                     fmt.Sprintf("n%c s × %.2f to %.2f", power, defaultMinBackoffSpread, defaultMaxBackoffSpread),
		"Timeout":                     fmt.Sprintf("%.0fm", defaultTimeout.Minutes()),
		"Queue":                       defaultQueue,
		"Grace":                       seconds(defaultGrace),
		"MisfireCatchUp":              fmt.Sprintf("%.0fh, %d runs", defaultCatchUp.Hours(), defaultMaxCatchUp),
		"WorkerOptions.Concurrency":   fmt.Sprintf("%d × GOMAXPROCS", defaultConcurrency),
		"WorkerOptions.SessionTTL":    seconds(defaultSessionTTL),
		"WorkerOptions.DrainTimeout":  seconds(defaultDrainTimeout),
		"WorkerOptions.MaxCrashes":    fmt.Sprint(defaultMaxCrashes),
		"EnqueuerOptions.Queue":       EnqueuerOptions{}.withDefaults().Queue,
		"EnqueuerOptions.MaxPayload":  fmt.Sprintf("%d MiB", defaultMaxPayload>>20),
		"EnqueuerOptions.SendTimeout": seconds(defaultSendTimeout),
		"SchedulerOptions.LeaderTTL":  seconds(defaultLeaderTTL),
		"SchedulerOptions.SafetyTick": seconds(defaultSafetyTick),
	}
	for option, value := range want {
		if got[option] != value {
			t.Errorf("README.md says %s is %q, the source says %q", option, got[option], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("README.md has %d defaults, want %d: %v", len(got), len(want), got)
	}
}
