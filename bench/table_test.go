package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{
		{0, "0"}, {1, "1"}, {28, "28"}, {113991.91, "113,992"}, {1234567, "1,234,567"}, {999.97, "1,000"}, {-1234.2, "-1,234"},
		{753.42, "753"}, {38.04, "38.0"}, {99.97, "100"}, {9.996, "10.0"}, {4.113, "4.11"}, {0.0617, "0.062"},
	} {
		if got := quantity(c.value); got != c.want {
			t.Errorf("%v is printed %q, want %q", c.value, got, c.want)
		}
	}
}

func TestARatioAboveOneMeansThatChimeIsBetter(t *testing.T) {
	for _, c := range []struct {
		name        string
		chime, peer float64
		less        bool
		want        float64
		text        string
	}{
		{"twice the jobs a second", 200, 100, false, 2, "2.00 ×"},
		{"half the jobs a second", 50, 100, false, 0.5, "0.50 ×"},
		{"half the latency", 5, 10, true, 2, "2.00 ×"},
		{"1,200 times less latency", 1, 1200, true, 1200, "1,200 ×"},
	} {
		got := ratio(c.chime, c.peer, c.less)
		if got != c.want || times(got) != c.text {
			t.Errorf("%s: got %v, %q, want %v, %q", c.name, got, times(got), c.want, c.text)
		}
	}
}

func TestAMeasureHasARowForEveryFigureAndPeer(t *testing.T) {
	all := samples{
		sampleOf("process 1", "jobs/s", "1/s", false, "asynq tuned", 1, 100),
		sampleOf("process 1", "jobs/s", "1/s", false, "chime", 1, 900),
		sampleOf("process 1", "jobs/s", "1/s", false, "chime", 2, 1100),
		sampleOf("process 1", "server CPU a job", "µs", true, "chime", 1, 5),
		sampleOf("process 1", "server CPU a job", "µs", true, "asynq tuned", 1, 60),
		sampleOf("process 10", "jobs/s", "1/s", false, "chime", 1, 1),
	}
	want := strings.TrimPrefix(`
figure                peer         median  least   most  rounds  chime is
jobs/s                chime         1,000    900  1,100       2
                      asynq tuned     100    100    100       1    9.00 ×
server CPU a job, µs  chime             5      5      5       1
                      asynq tuned      60     60     60       1    12.0 ×
`, "\n")
	var text bytes.Buffer
	if err := writeTable(&text, measureTable(all, "process 1"), false); err != nil {
		t.Fatal(err)
	}
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}

	text.Reset()
	if err := writeTable(&text, measureTable(all, "process 1"), true); err != nil {
		t.Fatal(err)
	}
	want = "| figure | peer | median | least | most | rounds | chime is |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n| jobs/s | chime | 1,000 | 900 | 1,100 | 2 |  |\n"
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("Markdown begins\n%s\nwant\n%s", text.String(), want)
	}
}

// The speed of the machine changes between rounds: chime's round is compared with the same round of the peer.
func TestRoundsAreCompared(t *testing.T) {
	all := samples{
		sampleOf("m", "jobs/s", "1/s", false, "chime", 1, 400), sampleOf("m", "jobs/s", "1/s", false, "asynq", 1, 100),
		sampleOf("m", "jobs/s", "1/s", false, "chime", 2, 90), sampleOf("m", "jobs/s", "1/s", false, "asynq", 2, 30),
		sampleOf("m", "jobs/s", "1/s", false, "asynq", 3, 200), sampleOf("m", "jobs/s", "1/s", false, "chime", 3, 400),
		sampleOf("m", "jobs/s", "1/s", false, "asynq", 4, 1),
		sampleOf("m", "early", "", true, "chime", 1, 0), sampleOf("m", "early", "", true, "asynq", 1, 28), sampleOf("m", "early", "", true, "gocraft", 1, 0),
		sampleOf("m", "p99 of a bare timer", "ms", true, "chime", 1, 1), sampleOf("m", "p99 of a bare timer", "ms", true, "asynq", 1, 9),
		sampleOf("m", "back", "s", true, "chime", 1, 10), sampleOf("m", "back", "s", true, "asynq", 1, 180),
	}
	all[len(all)-1].Over = true
	if c, ok := all.compare("m", "jobs/s", "asynq", false); !ok || c != (comparison{3, 2, 4, false}) {
		t.Errorf("got %+v, %v, want 3 times, from 2 to 4: the fourth round has no chime", c, ok)
	}
	if c, ok := all.compare("m", "back", "asynq", true); !ok || c.String() != "> 18.0 ×" {
		t.Errorf("got %v, %v, want more than 18 times: the peer gave up", c, ok)
	}
	for _, none := range []struct{ figure, peer string }{{"early", "asynq"}, {"early", "gocraft"}, {"p99 of a bare timer", "asynq"}, {"jobs/s", "river"}} {
		if c, ok := all.compare("m", none.figure, none.peer, true); ok {
			t.Errorf("%s of %s: %v, want no ratio", none.figure, none.peer, c)
		}
	}
}

func TestALabelSaysTheUnitOnce(t *testing.T) {
	for _, c := range []struct{ figure, unit, want string }{
		{"jobs/s", "1/s", "jobs/s"}, {"declared", "1/s", "declared, 1/s"}, {"until the other leads", "s", "until the other leads, s"},
		{"p50", "ms", "p50, ms"}, {"early", "", "early"},
	} {
		if got := labelOf(c.figure, c.unit); got != c.want {
			t.Errorf("%q in %q is labelled %q, want %q", c.figure, c.unit, got, c.want)
		}
	}
}

// sampleOf returns a sample of a measured round.
func sampleOf(measure, figure, unit string, less bool, peer string, round int, value float64) sample {
	return sample{Measure: measure, Figure: figure, Unit: unit, Less: less, Peer: peer, Round: round, Value: value}
}
