package svg

import (
	"encoding/binary"
	"encoding/xml"
	"html/template"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestWhatIsWrittenIsEscaped(t *testing.T) {
	for given, want := range map[string]string{
		`"><script>alert('x')</script>`: "&#34;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
		"a & b":                         "a &amp; b",
		"\x1b[31m\x00":                  "\uFFFD[31m\uFFFD",
		"\u202eabc\u2066":               "\uFFFDabc\uFFFD",
		"\xff\uFFFE":                    "\uFFFD\uFFFD",
		"a\nb":                          "a b",
		"Zürich 日本":                     "Zürich 日本",
	} {
		if got := escape(given); got != want {
			t.Errorf("escape(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestACoordinateHasOneDecimal(t *testing.T) {
	for v, want := range map[float64]string{0: "0", -0.04: "0", 1.0 / 3: "0.3", -2.25: "-2.3", 120: "120", 0.1 + 0.2: "0.3", math.Inf(1): "0"} {
		if got := num(v); got != want {
			t.Errorf("num(%v) = %q, want %q", v, got, want)
		}
	}
	if got := num(math.NaN()); got != "0" {
		t.Errorf("num(NaN) = %q", got)
	}
}

// FuzzCharts draws any data under any name. The result has to be safe markup with the name as its sentence.
func FuzzCharts(f *testing.F) {
	f.Add("report", int64(1763733600), uint8(0), []byte("12345678abcdefgh"))
	f.Add(`"/><script>`, int64(-62135596800), uint8(255), []byte{255, 255, 255, 255, 255, 255, 255, 127})
	f.Add("\x00\u202e&", int64(math.MaxInt64), uint8(1), []byte{0, 0, 0, 0, 0, 0, 240, 127, 0, 0, 0, 0, 0, 0, 240, 255})
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, name string, seconds int64, small uint8, raw []byte) {
		from, to := time.Unix(seconds%1e11, 0), time.Unix(seconds%1e11+int64(small)*3600, 0)
		var values []float64
		var counts []int
		var points []Point
		var events []Event
		var runs []Tick
		for ; len(raw) >= 8; raw = raw[8:] {
			bits := binary.LittleEndian.Uint64(raw)
			at := from.Add(time.Duration(bits % uint64(1+to.Sub(from))))
			values = append(values, math.Float64frombits(bits))
			counts = append(counts, int(bits))
			points = append(points, Point{at, math.Float64frombits(bits)})
			events = append(events, Event{at, int(bits), Tone(bits)})
			runs = append(runs, Tick{at, Tone(bits), name})
		}
		series := []Series{{name, Tone(small), points}, {name, OK, points}}
		step, size := time.Duration(seconds), int(small)-100
		for i, chart := range []picture{
			Lines{Label: name, From: from, To: to, Zone: berlin, Step: step, Unit: Unit(small), Series: series, Width: size, Height: size},
			Lines{Title: name, From: to, To: from, Step: step, Unit: PerSecond, Series: series},
			Spark{Label: name, Values: values, Unit: Unit(small), Tone: Tone(small), Bars: small%2 == 0, From: from, Step: step, Width: size, Height: size},
			Ticks{Label: name, Runs: runs, Zone: berlin},
			Hours{Label: name, Now: to, Zone: berlin, From: from, Events: events, Past: size},
			Weeks{Title: name, Now: from, Until: to, Events: events, Next: size},
			Bars{Label: name, Noun: name, From: from, Step: step, Counts: counts, Width: size, Height: size},
		} {
			svg := chart.SVG()
			if err := check(svg); err != nil {
				t.Fatalf("chart %d: %v", i, err)
			}
			if i != 1 && i != 5 && name != "" && sentence(t, svg) != shown(name) {
				t.Errorf("chart %d: the sentence is %q, want %q", i, sentence(t, svg), shown(name))
			}
			for _, row := range chart.Table().Rows {
				for _, text := range row {
					if !utf8.ValidString(name) || strings.Contains(name, "N") || strings.Contains(name, "Inf") {
						continue
					}
					if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
						t.Errorf("chart %d: the table has %q", i, row)
					}
				}
			}
		}
	})
}

// shown returns a name as a reader of the markup gets it.
func shown(name string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(escape(name))
}

func sentence(t *testing.T, svg template.HTML) string {
	t.Helper()
	token, err := xml.NewDecoder(strings.NewReader(string(svg))).Token()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range token.(xml.StartElement).Attr {
		if a.Name.Local == "aria-label" {
			return a.Value
		}
	}
	return ""
}
