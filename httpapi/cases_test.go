package httpapi_test

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/internal/long"
)

// A calendarCase is a job that is created at an instant, with the instants of its first runs.
type calendarCase struct {
	ID    string                     `json:"id"`
	Job   map[string]json.RawMessage `json:"job"`
	Now   time.Time                  `json:"now"`
	First []string                   `json:"first"`
	Next  []string                   `json:"next"` // instead of First
	Code  string                     `json:"code"` // the code of its refusal
}

// calendarCases reads the cases of a file: one array, or one case a line.
func calendarCases(t *testing.T, file string) []calendarCase {
	t.Helper()
	text, err := os.ReadFile("../recurrence/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []calendarCase
	if strings.HasPrefix(string(text), "[") {
		err = json.Unmarshal(text, &all)
	} else {
		lines := json.NewDecoder(strings.NewReader(string(text)))
		for err == nil {
			var c calendarCase
			if err = lines.Decode(&c); err == nil {
				all = append(all, c)
			}
		}
		if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// fakeTime is the start of a chimetest bubble.
var fakeTime = time.Date(2000, 1, 12, 10, 17, 0, 0, time.UTC)

// Independent engines have computed the next execution of each case. The test puts the job at the case's instant and compares. A plain run checks one
// case in five.
func TestAJobThatIsPutRunsNextWhenTheCasesSay(t *testing.T) {
	for file, least := range map[string]int{"seed_cases.json": 70, "tz_cases.json": 30, "random_cases.jsonl": 180, "extra_cases.json": 15, "calendar_cases.json": 390} {
		t.Run(file, func(t *testing.T) {
			ran, every := 0, long.Seeds(5, 1)
			if file == "random_cases.jsonl" {
				every *= 4
			}
			for i, c := range calendarCases(t, file) {
				if c.Job == nil || c.Now.Before(fakeTime) || i%every > 0 {
					continue
				}
				ran++
				chimetest.Run(t, func(t *testing.T, bubble *chimetest.Chime) {
					time.Sleep(time.Until(c.Now))
					checkCase(t, client{t, httpapi.New(bubble.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}, c)
				})
			}
			if least = least / long.Seeds(6, 1); ran < least {
				t.Errorf("%d cases ran, want %d", ran, least)
			}
		})
	}
}

func checkCase(t *testing.T, on client, c calendarCase) {
	t.Helper()
	on.send(201, "PUT", "/jobCollections/demo", "{}")
	c.Job["action"] = json.RawMessage(`{"type": "https", "request": {"uri": "https://example.com/r"}}`)
	body, err := json.Marshal(c.Job)
	if err != nil {
		t.Fatal(err)
	}
	if c.Code != "" {
		if refused, _ := on.send(400, "PUT", "/jobCollections/demo/jobs/a", string(body)); refused["code"] != c.Code {
			t.Errorf("%s: the code is %v, want %s", c.ID, refused["code"], c.Code)
		}
		return
	}
	first := append(c.First, c.Next...)
	if tooOften(t, first) {
		on.send(409, "PUT", "/jobCollections/demo/jobs/a", string(body)) // quota_recurrence: the minimum is a minute
		return
	}
	job, _ := on.send(201, "PUT", "/jobCollections/demo/jobs/a", string(body))
	want := any(nil)
	if len(first) > 0 {
		want = first[0]
	}
	got := at(job, "properties", "status", "nextExecutionTime")
	state := at(job, "properties", "state")
	if got != want || (want == nil) != (state == "completed") {
		t.Errorf("%s: the next execution is %v and the state %v, want %v: %s", c.ID, got, state, want, body)
	}
}

// tooOften reports whether two of some runs are less than a minute apart.
func tooOften(t *testing.T, runs []string) bool {
	t.Helper()
	last := time.Time{}
	for _, run := range runs {
		at, err := time.Parse(time.RFC3339, run)
		if err != nil {
			t.Fatal(err)
		}
		if !last.IsZero() && at.Sub(last) < time.Minute {
			return true
		}
		last = at
	}
	return false
}
