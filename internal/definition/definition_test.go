package definition_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/definition"
	"github.com/chimejobs/chime/recurrence"
)

func schedule() *chime.Schedule {
	return &chime.Schedule{
		Name: "report", JobName: "send", Queue: "mail", Recurrence: recurrence.Recurrence{Cron: "0 9 * * *"}, Payload: []byte{0x80}, Overlap: chime.OverlapSkip,
		Misfire: chime.MisfireSkip, Grace: time.Minute, Retry: chime.Exponential(time.Second, time.Hour), KeepRuns: 20, Meta: json.RawMessage(`{"team":"a"}`),
	}
}

func TestADefinitionIsReadAsItIsWritten(t *testing.T) {
	of, err := definition.Of(schedule(), false)
	if err != nil || of.Payload != nil || of.Retry == nil || of.Retry.MaxMS != 3_600_000 {
		t.Fatalf("%+v, %v; want no arguments, and a retry", of, err)
	}
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	read, rule, err := definition.Read(string(text), "")
	if err != nil || rule.Cron != "0 9 * * *" {
		t.Fatalf("%s: %v, %v", text, rule, err)
	}
	if changes, err := definition.Differences(of, read); err != nil || len(changes) != 0 {
		t.Errorf("differences: %v, %v", changes, err)
	}
}

func TestDifferencesShowNoArguments(t *testing.T) {
	before, err := definition.Of(schedule(), true)
	if err != nil {
		t.Fatal(err)
	}
	given, _, err := definition.Read(`{"rule": "0 7 * * *", "args": {"secret": 42}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	after, err := before.With(given)
	if err != nil || after.Queue != "mail" || after.Payload != nil {
		t.Fatalf("%+v, %v; want the queue kept, and the old arguments gone", after, err)
	}
	changes, err := definition.Differences(before, after)
	if err != nil || len(changes) != 3 || changes[0].Field != "rule" || !strings.HasPrefix(changes[0].After, "Every day at 07:00 UTC") || changes[1].After != "13 bytes" {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestWhatIsNoDefinitionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"rule": "@daily", "que": "a"}`:                   "que",
		`{"rule": "@daily"} {}`:                            "nothing after it",
		`{"rule": "@daily", "args": 1, "payload": "gA=="}`: "one of them",
		`{"rule": "61 * * * *"}`:                           "cron",
	} {
		if _, _, err := definition.Read(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
