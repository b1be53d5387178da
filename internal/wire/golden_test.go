package wire

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// status is a number with JSON methods: msgpack stores the number.
type status int

func (s status) MarshalJSON() ([]byte, error) {
	return json.Marshal([]string{"", "open", "closed"}[s])
}

func (s *status) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*s = map[string]status{"open": 1, "closed": 2}[text]
	return nil
}

type span1 struct{ time.Duration } // a duration for configuration files, as many programs have it

func (d span1) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

func (d *span1) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &text)
	if err == nil {
		d.Duration, err = time.ParseDuration(text)
	}
	return err
}

type base struct{ ID int }

type Base struct{ ID int }

type tuple struct {
	//lint:ignore U1000 its tag is read by reflection
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it is an option of the encoder
	A        int
	B        string
}

// goldens are arguments that every version stores in the same bytes: ArgsID and stored definitions depend on them.
func goldens() []struct {
	name  string
	value any
} {
	link, _ := url.Parse("https://a:b@x/y?z=1")
	at := time.Unix(1780000000, 5).UTC()
	return []struct {
		name  string
		value any
	}{
		{"nothing", nil},
		{"bytes", []byte("5")},
		{"JSON", json.RawMessage(`{"a": 1}`)},
		{"JSON of two digits", json.RawMessage("42")},
		{"a number", 53},
		{"a text", "a"},
		{"a slice", []int{1, -1, 300, math.MaxInt64}},
		{"a struct", argsBothTags{Customer: "a", Amount: -5, When: at, Wait: time.Minute, Tags: map[string]string{"k": "v"}, Raw: []byte{1}}},
		{"a pointer to a struct", &address{City: "a", Box: 3}},
		{"a number with JSON methods", struct{ S status }{2}},
		{"a duration with JSON methods", struct{ D span1 }{span1{time.Second}}},
		{"sql.NullString", struct{ N sql.NullString }{sql.NullString{String: "x", Valid: true}}},
		{"sql.NullTime", struct{ N sql.NullTime }{}},
		{"*url.URL", struct{ U *url.URL }{link}},
		{"*big.Rat", struct{ R *big.Rat }{big.NewRat(1, 3)}},
		{"*big.Int", struct{ N *big.Int }{big.NewInt(123)}},
		{"[]*big.Int", []*big.Int{big.NewInt(1), nil}},
		{"netip.Addr", struct{ A netip.Addr }{netip.MustParseAddr("10.0.0.1")}},
		{"no netip.Addr", struct {
			A netip.Addr `json:"a,omitempty"`
		}{}},
		{"no time", struct {
			T time.Time  `json:"t,omitempty"`
			P *time.Time `json:"p,omitempty"`
		}{}},
		{"an embedded struct", struct {
			base
			Name string
		}{base{1}, "x"}},
		{"an embedded pointer", struct {
			*Base
			Name string
		}{&Base{1}, "x"}},
		{"an embedded struct that is hidden", struct {
			ID int
			Base
		}{1, Base{2}}},
		{"an array", tuple{A: 1, B: "b"}},
		{"unexported fields", struct {
			ID   int
			name string
		}{1, "x"}},
		{"a map of anything", map[string]any{"a": []any{1, "x", nil, 1.5, true, at, []byte{1}, base{7}}}},
		{"an error", struct{ Err error }{os.ErrNotExist}},
		{"raw JSON in a struct", struct{ R, None json.RawMessage }{R: json.RawMessage("5")}},
		{"json.Number", struct{ N json.Number }{"12345678901234567890"}},
		{"floats", []float64{math.Inf(1), 0.1}},
		{"a nil pointer to an opaque struct", struct{ P *withoutFields }{}},
		{"a map with number keys", map[int]string{7: "x"}},
		{"a zero with its own idea of zero", struct {
			T time.Time `json:"t,omitempty"`
			N int       `json:"n,omitempty"`
			A any       `json:"a,omitempty"`
		}{}},
	}
}

func TestTheBytesOfArgumentsDoNotChange(t *testing.T) {
	text, err := os.ReadFile("testdata/arguments.golden")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, bytes, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want[name] = strings.TrimSpace(bytes)
	}
	for _, g := range goldens() {
		payload, err := EncodeStable(g.value)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if got := hex.EncodeToString(payload); got != want[g.name] {
			t.Errorf("%s:\n got %s\nwant %s", g.name, got, want[g.name])
		}
		delete(want, g.name)
		if g.value == nil {
			continue
		}
		back := reflect.New(reflect.TypeOf(g.value))
		if err := Decode(payload, back.Interface()); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
	}
	for name := range want {
		t.Errorf("no test has the arguments %q of the golden file", name)
	}
}
