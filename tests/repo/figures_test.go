package repo_test

import (
	"os"
	"strings"
	"testing"
)

// A figure that a document names is the one in the source. Each row has the document, its words, a source file and the code with the figure: whoever
// changes the code finds the document here. The README's defaults and the key tables have tests of their own.
func TestTheFiguresOfTheDocumentsAreThoseOfTheSource(t *testing.T) {
	t.Chdir(root)
	for _, row := range []struct{ document, words, source, code string }{
		{"SECURITY.md", "listens on 127.0.0.1:7080", "cmd/chime/internal/command/dashboard.go", `"listen", "127.0.0.1:7080"`},
		{"SECURITY.md", "listens on 127.0.0.1:8080", "httpapi/cmd/chimed/settings.go", `"listen", "127.0.0.1:8080"`},
		{"SECURITY.md", "more than ten wrong attempts a minute", "internal/login/gate.go", "maxWrong = 10 "},
		{"SECURITY.md", "it takes up to ten minutes", "dashboard/events.go", "maxStream = 10 * time.Minute"},
		{"SECURITY.md", "(`Forwarded`, `Via`, `X-Real-Ip`, `X-Forwarded-…`)", "internal/loopback/loopback.go", `case name == "Forwarded", name == "Via", name == "X-Real-Ip", strings.HasPrefix(name, "X-Forwarded-"):`},
		{"SECURITY.md", "`read` sees the pages, `run` also runs jobs of collections, `write` also pauses and resumes them, `admin` does the rest", "httpapi/cmd/chimed/dashboard.go", "httpapi.Read: dashboard.View, httpapi.Run: dashboard.Operate, httpapi.Write: dashboard.Edit, httpapi.Admin: dashboard.Delete | dashboard.Reveal"},
		{"docs/dashboard.md", "10 s after the last page was closed", "dashboard/dashboard.go", "pollLinger = 10 * time.Second"},
		{"docs/dashboard.md", "once every two seconds", "dashboard/dashboard.go", "pollEvery = 2 * time.Second"},
		{"docs/dashboard.md", "who request the page within a second", "dashboard/page.go", "sharedFor = time.Second"},
		{"docs/dashboard.md", "If more than 20 different pages are open", "dashboard/internal/live/hub.go", "maxTopics = 20 "},
		{"docs/dashboard.md", "renewed every ten minutes", "dashboard/events.go", "maxStream = 10 * time.Minute"},
		{"docs/dashboard.md", "list of up to 10,000 schedules", "dashboard/internal/pages/directory.go", "maxDirectory = 10_000"},
		{"docs/dashboard.md", "One viewer gets 20 requests a second", "dashboard/dashboard.go", "perSecond = 20 "},
		{"docs/dashboard.md", "Forms may have 64 KiB", "dashboard/internal/guard/size.go", "MaxBody = 64 << 10"},
		{"docs/dashboard.md", "the definition of a schedule 1.1 MiB", "dashboard/internal/guard/size.go", "MaxDefinition = 1<<20 + 100<<10"},
		{"docs/jobs.md", "a job has 25 attempts", "chime.go", "defaultMaxAttempts = 25"},
		{"docs/jobs.md", "occurrence has 5, because", "chime.go", "defaultOccurrenceAttempts = 5 "},
		{"docs/jobs.md", "A payload has at most 1 MiB", "chime.go", "defaultMaxPayload = 1 << 20 "},
		{"docs/jobs.md", "A result has at most 64 KiB", "internal/wire/result.go", "MaxResult = 64 << 10"},
		{"docs/jobs.md", "All headers of a job together have at most 4 KiB", "options.go", "maxHeader = 4 << 10"},
		{"docs/jobs.md", "remain on their queue for 30 days", "redisstore/store.go", "cmp.Or(options.DeadRetention, 30*24*time.Hour)"},
		{"docs/jobs.md", "the job waits up to 7 days for a worker that has one", "redisstore/store.go", "cmp.Or(options.ParkedRetention, 7*24*time.Hour)"},
		{"docs/schedules.md", "contains the last 20 attempts", "internal/schedule/definition.go", "DefaultKeepRuns = 20"},
		{"docs/schedules.md", "up to 1000:", "internal/schedule/definition.go", "MaxKeepRuns = 1000"},
		{"docs/schedules.md", "each of the last 35 days", "internal/protocol/jobs.go", "MaxDays = 35"},
		{"docs/calendar.md", "32 filters in each list", "recurrence/validatefilter.go", "maxFilters = 32"},
		{"docs/calendar.md", "1,000 instants and 16 rules in `Also`", "recurrence/validatealso.go", "maxAlsoInstants = 1000"},
		{"docs/calendar.md", "the same on every machine and from any start: 2,000,000", "recurrence/calendarcost.go", "maxSteps = 2_000_000"},
		{"README.md", "a poll every 11 to 12 s", "internal/work/wakeup.go", "return protocol.IdleRetention - 2*time.Second + rand.N(time.Second)"},
		{"README.md", "a poll every 11 to 12 s", "internal/protocol/limits.go", "IdleRetention = 13 * time.Second"},
		{"docs/operating.md", "waits up to `DrainTimeout`, 25 s", "chime.go", "defaultDrainTimeout = 25 * time.Second"},
		{"docs/how-it-works.md", "within its time to live (12 s)", "chime.go", "defaultSessionTTL = 12 * time.Second"},
		{"docs/how-it-works.md", "left alone for another 4.4 s", "internal/reap/reaper.go", "return ttl / 3 * 11 / 10"},
		{"docs/health.md", "not turned for `MaxSilence`, 30 s", "health/health.go", "defaultMaxSilence = 30 * time.Second"},
		{"docs/monitoring.md", "have the first 200 names that the program knows", "chimeprom/names.go", "maxNames = 200"},
		{"docs/monitoring.md", "has the first 200 pairs that occur", "chimeprom/pairs.go", "maxPairs = 200"},
		{"docs/testing.md", "after 30 s the test program ends", "chimetest/watchdog.go", "stuckAfter = 30 * time.Second"},
		{"docs/command.md", "how long an answer may take, 10 s", "cmd/chime/internal/connect/flags.go", `"timeout", 10*time.Second`},
		{"docs/operating.md", "A filter may match at most 10,000 jobs", "cmd/chime/internal/command/jobs_change.go", "defaultMax = 10_000"},
	} {
		if !containsWords(t, row.document, row.words) {
			t.Errorf("%s does not have %q, which is %s in %s", row.document, row.words, row.code, row.source)
		}
		if !containsWords(t, row.source, row.code) {
			t.Errorf("%s does not have %q: %s says %q", row.source, row.code, row.document, row.words)
		}
	}
}

// containsWords reports whether a file has a text, however its words are spaced.
func containsWords(t *testing.T, file, text string) bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spaced := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return strings.Contains(spaced(string(content))+" ", spaced(text))
}
