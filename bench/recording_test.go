package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	want := recording{
		conditions: []conditions{{Date: "2026-03-08", CPU: "some", Cores: 2, Libraries: map[string]string{"a": "v1"}, Settings: map[string]string{"chime": "defaults"}, Flags: []string{"-short=true"}}},
		samples: samples{
			{Measure: "process 1", Figure: "jobs/s", Unit: "1/s", Peer: "chime", Round: 1, Value: 1234.5},
			{Measure: "delayed", Figure: "early", Less: true, Peer: "asynq tuned", Round: 2, Value: 0},
		},
	}
	var text bytes.Buffer
	if err := want.write(&text); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != 3 {
		t.Errorf("%d lines, want one for the conditions and one a sample", lines)
	}
	var got recording
	if err := got.read(&text); err != nil {
		t.Fatal(err)
	}
	for i := range want.samples {
		want.samples[i].run = 1
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A measure that was repeated until its figure was good is refused, and so is a peer that was measured in another run.
func TestAMeasureIsOfOneRun(t *testing.T) {
	rec := recording{samples: samples{{Measure: "delayed", Round: 1, run: 1}, {Measure: "process 1", Round: 1, run: 2}, {Measure: "delayed", Round: 2, run: 1}}}
	if err := rec.check(); err != nil {
		t.Error(err)
	}
	rec.samples = append(rec.samples, sample{Measure: "delayed", Round: 3, run: 2})
	if err := rec.check(); err == nil || !strings.Contains(err.Error(), "delayed") {
		t.Errorf("%v, want an error that names the measure", err)
	}
}

// Runs with different measures may share a file, and remain separate when the file is rewritten.
func TestRunsKeepTheirSamples(t *testing.T) {
	const text = `{"conditions":{"date":"2026-03-08","cpu":"","cores":2,"kernel":"","go":"","redis":"","libraries":null,"settings":null,"flags":["-measures=process"]}}
{"measure":"process 1","figure":"jobs/s","peer":"chime","round":1,"value":1}
{"conditions":{"date":"2026-03-09","cpu":"","cores":2,"kernel":"","go":"","redis":"","libraries":null,"settings":null,"flags":["-measures=crash"]}}
{"measure":"crash","figure":"until it runs again","peer":"chime","round":1,"value":2}
`
	var rec recording
	if err := rec.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := rec.check(); err != nil {
		t.Error(err)
	}
	var again bytes.Buffer
	if err := rec.write(&again); err != nil || again.String() != text {
		t.Errorf("%v, written as\n%s\nwant\n%s", err, again.String(), text)
	}
}

func TestAFigureIsRecordedOnceARound(t *testing.T) {
	one := sample{Measure: "delayed", Figure: "p99", Peer: "chime", Round: 2, run: 1}
	if err := (recording{samples: samples{one, one}}).check(); err == nil || !strings.Contains(err.Error(), "p99 of chime") {
		t.Errorf("%v, want an error that names the figure and the peer", err)
	}
}

// Medians of one table belong to the same rounds. Other measures may have fewer rounds.
func TestPeersHaveTheSameRounds(t *testing.T) {
	rec := recording{samples: samples{
		sampleOf("crash", "s", "s", true, "chime", 1, 1), sampleOf("crash", "s", "s", true, "gocraft defaults", 1, 1),
		sampleOf("crash", "s", "s", true, "chime", 2, 1), sampleOf("crash", "s", "s", true, "gocraft defaults", 2, 1),
		sampleOf("schedules", "s", "s", true, "chime", 1, 1),
	}}
	if err := rec.even(); err != nil {
		t.Error(err)
	}
	rec.samples = append(rec.samples, sampleOf("crash", "s", "s", true, "chime", 3, 1))
	err := rec.even()
	if err == nil || !strings.Contains(err.Error(), "crash: chime took part in round 3 and gocraft defaults did not") {
		t.Errorf("%v, want an error that names measure, round and peers", err)
	}
}

func TestALineThatIsNoSampleIsRefused(t *testing.T) {
	for _, text := range []string{`{}`, `{"measure":"a"}`, `{"measure":"a","figure":"b","peer":"c","median":1}`, `process 1 chime`,
		`{"measure":"of no run","figure":"b","peer":"c","round":1,"value":1}`} {
		var rec recording
		if err := rec.read(strings.NewReader("\n" + text + "\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v, want an error that names line 2", text, err)
		}
	}
}

func TestASpreadIsMedianAndExtremes(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{7}, spread{7, 7, 7, 1, 1}},
		{[]float64{9, 1}, spread{5, 1, 9, 2, 2}},
		{[]float64{5, 100, 1, 4, 6}, spread{5, 1, 100, 5, 5}},
	} {
		all := samples{{Measure: "m", Figure: "f", Peer: "another", Value: 1e9}, {Measure: "m", Figure: "other", Peer: "p", Value: 1e9}}
		for _, v := range c.values {
			all = append(all, sample{Measure: "m", Figure: "f", Peer: "p", Value: v})
		}
		if got, ok := all.spreadOf("m", "f", "p"); !ok || got != c.want {
			t.Errorf("%v: got %v, %v, want %v", c.values, got, ok, c.want)
		}
	}
	if got, ok := (samples{}).spreadOf("m", "f", "p"); ok {
		t.Errorf("no values: got %v", got)
	}
}
