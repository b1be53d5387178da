package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A level decodes itself, and its error contains the value, like the errors of many types.
type level int

func (l *level) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	*l = level(n)
	return err
}

type address struct {
	City string `json:"city"`
	Box  int8   `json:"box"`
}

type customer struct {
	Since     time.Time          `json:"since"`
	Level     level              `json:"level" msgpack:"lvl"`
	Addresses []*address         `json:"addresses"`
	Rates     map[string]float64 `json:"rates"`
	From      netip.Addr         `json:"from"`
}

func TestAnErrorOfDecodingNamesThePlaceAndNotTheValue(t *testing.T) {
	const canary = "canary-4711"
	for _, c := range []struct {
		json string
		want string // of both formats
	}{
		{`{"since":"` + canary + `"}`, "since: a string does not fit time.Time"},
		{`{"addresses":[{"city":"a"},{"city":4711}]}`, "addresses[1].city: a number does not fit string"},
		{`{"addresses":"` + canary + `"}`, "addresses: a string does not fit []*wire.address"},
		{`{"rates":{"` + canary + `":"x"}}`, "rates[…]: a string does not fit float64"},
		{`{"from":"` + canary + `"}`, "from: a string does not fit netip.Addr"},
		{`["` + canary + `",1]`, "an array does not fit wire.customer"},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.json), &v); err != nil {
			t.Fatal(err)
		}
		packed, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		for format, payload := range map[string][]byte{"JSON": []byte(c.json), "msgpack": packed} {
			err := Decode(payload, new(customer))
			if want := "chime: decode into *wire.customer: " + c.want; err == nil || err.Error() != want {
				t.Errorf("%s %s:\n got %v\nwant %s", format, c.json, err, want)
			}
			if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, canary) || strings.Contains(text, "4711") {
				t.Errorf("%s: the error contains the value: %s", format, text)
			}
		}
	}
	for payload, want := range map[string]string{
		`{"level":"` + canary + `"}`:        "level: a string does not fit wire.level",
		"\x81\xa3lvl\xab" + canary:          "lvl: a string does not fit wire.level",
		`{"addresses":[{"box":4711}]}`:      "addresses[0].box: a number does not fit int8",
		"\x81\xa9addresses\x91\x81\xa3box":  "msgpack: ends too early",
		"\x81\xa9addresses\x91\x81\xa3box1": "",
	} {
		err := Decode([]byte(payload), new(customer))
		if want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+want)) || err != nil && strings.Contains(err.Error(), "4711") {
			t.Errorf("%q: got %v, want %s", payload, err, want)
		}
	}
	if err := Decode([]byte(`{"level":"x"}`), new(customer)); !errors.Is(err, strconv.ErrSyntax) {
		t.Errorf("got %v, want that errors.Is finds what the type's own method returned", err)
	}
}

type withoutFields struct{ secret, count int }

type aliasOfNothing struct {
	Kept int `json:"-"`
	mine withoutFields
}

type readable struct{ hidden string }

func (r readable) MarshalText() ([]byte, error) { return []byte(r.hidden), nil }

type failure struct{ Code int }

func (failure) Error() string { return "failure" }

func TestArgumentsThatWouldBeStoredEmptyAreRefused(t *testing.T) {
	for name, v := range map[string]any{
		"an error":                        errors.New("x"),
		"an error of an own type":         failure{3},
		"a struct without exported ones":  withoutFields{1, 2},
		"a pointer to one":                &withoutFields{1, 2},
		"a struct whose fields stay here": aliasOfNothing{Kept: 1, mine: withoutFields{}},
	} {
		_, err := Encode(v)
		var invalid *protocol.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "args" || invalid.Value != fmt.Sprintf("%T", v) {
			t.Errorf("%s: got %v, want an InvalidError of the args that names their type", name, err)
		}
	}
	for name, v := range map[string]any{
		"nothing at all":      struct{}{},
		"a nil pointer":       (*withoutFields)(nil),
		"a type that encodes": readable{"x"},
		"an embedded struct":  struct{ address }{address{City: "a"}},
		"zero fields left out": struct {
			A int `json:"a,omitempty"`
		}{},
		"an empty map":            map[string]int{},
		"an empty slice":          []int{},
		"a struct and its errors": struct{ Errs []string }{},
	} {
		if _, err := Encode(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
