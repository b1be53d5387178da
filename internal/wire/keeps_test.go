package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// money has unexported fields only, and methods for JSON only, like many domain types.
type money struct {
	cents    int64
	currency string
}

func (m money) MarshalJSON() ([]byte, error) {
	return json.Marshal(fmt.Sprintf("%d %s", m.cents, m.currency))
}

func (m *money) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	_, err := fmt.Sscanf(s, "%d %s", &m.cents, &m.currency)
	return err
}

// counter is JSON of one digit.
type counter struct{ n int }

func (c counter) MarshalJSON() ([]byte, error)  { return json.Marshal(c.n) }
func (c *counter) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &c.n) }

// optional has a value that is exported, and a mark that is not.
type optional struct {
	V   string
	set bool
}

func (o optional) MarshalJSON() ([]byte, error) {
	if !o.set {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

func (o *optional) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = optional{}
		return nil
	}
	o.set = true
	return json.Unmarshal(b, &o.V)
}

// nullText is like the null.String of several libraries: a text for msgpack, where "no text" and an empty one are equal.
type nullText struct {
	Text  string
	Valid bool
}

func (n nullText) MarshalText() ([]byte, error) { return []byte(n.Text), nil }
func (n *nullText) UnmarshalText(b []byte) error {
	n.Text, n.Valid = string(b), len(b) > 0
	return nil
}

func (n nullText) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.Text)
}

func (n *nullText) UnmarshalJSON(b []byte) error {
	n.Valid = string(b) != "null"
	return json.Unmarshal(b, &n.Text)
}

// pointed has JSON methods of its pointer only.
type pointed struct{ n int }

func (p *pointed) MarshalJSON() ([]byte, error) { return json.Marshal(p.n) }
func (p *pointed) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &p.n) }

// priced has its methods from the embedded address, which does not know Port.
type endpoint struct {
	netip.Addr
	Port int
}

// redacted is shown as ***, wherever it is encoded as text.
type redacted string

func (redacted) MarshalText() ([]byte, error) { return []byte("***"), nil }

// label is encoded as it is.
type label string

func (l label) MarshalText() ([]byte, error) { return []byte(l), nil }

// crossed is written as text and read as binary data.
type crossed struct{ N int }

func (c crossed) MarshalText() ([]byte, error)     { return fmt.Appendf(nil, "%d", c.N), nil }
func (c *crossed) UnmarshalBinary(b []byte) error  { c.N = len(b); return nil }
func (c crossed) MarshalJSON() ([]byte, error)     { return json.Marshal(c.N) }
func (c *crossed) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &c.N) }

type writeOnly struct{ n int }

func (w writeOnly) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"n": w.n}) }

type loop struct {
	//lint:ignore U1000 it is read by reflection
	*loop
	X int
}

type account struct {
	A int `json:"x" msgpack:"same"`
	B int `json:"y" msgpack:"same"`
}

// twins returns a struct with two fields of one name, which go vet would report in the source.
func twins() any {
	t := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
	})
	v := reflect.New(t).Elem()
	v.Field(0).SetInt(1)
	v.Field(1).SetInt(2)
	return v.Interface()
}

func roundTrip(t *testing.T, name string, in any) {
	t.Helper()
	payload, err := Encode(in)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	out := reflect.New(reflect.TypeOf(in))
	if err := Decode(payload, out.Interface()); err != nil {
		t.Errorf("%s: %v (%q)", name, err, payload)
		return
	}
	if got := out.Elem().Interface(); !reflect.DeepEqual(got, in) {
		t.Errorf("%s: %q came back as %+v, want %+v", name, payload, got, in)
	}
}

func TestWhatMsgpackLosesIsStoredAsJSON(t *testing.T) {
	var lines strings.Builder
	log.SetOutput(&lines)
	defer log.SetOutput(log.Default().Writer())
	address := netip.MustParseAddr("10.0.0.1")
	zero, no := time.Time{}, false
	for name, in := range map[string]any{
		"JSON methods only":                       struct{ Total money }{money{500, "EUR"}},
		"JSON methods only, at the top":           money{500, "EUR"},
		"JSON methods only, by pointer":           &money{500, "EUR"},
		"JSON methods only, in a slice":           []money{{1, "EUR"}, {2, "USD"}},
		"JSON methods only, in a map":             map[string]money{"a": {1, "EUR"}},
		"JSON methods of the pointer":             struct{ P pointed }{pointed{3}},
		"JSON methods of the pointer, in a slice": []pointed{{3}},
		"JSON of one digit":                       counter{5},
		"an optional value":                       struct{ To optional }{optional{"a", true}},
		"no optional value":                       struct{ To optional }{},
		"an empty optional text":                  struct{ T nullText }{nullText{Valid: true}},
		"an optional text":                        struct{ T nullText }{nullText{"a", true}},
		"an opaque struct with omitempty": struct {
			IP netip.Addr `json:"ip,omitempty"`
		}{address},
		"an opaque struct in one with omitempty": struct {
			In struct {
				IP netip.Addr `json:"ip,omitempty"`
			} `json:"in,omitempty"`
		}{struct {
			IP netip.Addr `json:"ip,omitempty"`
		}{address}},
		"a pointer to a zero time with omitempty": struct {
			T *time.Time `json:"t,omitempty"`
		}{&zero},
		"a pointer to false with omitempty": struct {
			B *bool `json:"b,omitempty"`
		}{&no},
		"an empty text in an interface with omitempty": struct {
			V any `json:"v,omitempty"`
		}{""},
		"a field named -": struct {
			//lint:ignore SA5008 the tag is what is tested
			A int `json:"-,"`
		}{1},
		"two msgpack fields of one name": account{1, 2},
		"a hidden field that is zero": struct {
			Base
			ID int
		}{Base{}, 2},
		"an embedded pointer that is nil": struct {
			*Base
			Name string
		}{nil, "x"},
		"an embedded pointer of an unexported type that is nil": struct {
			*base
			Name string
		}{nil, "x"},
		"a text that is encoded as it is":      struct{ L label }{"x"},
		"methods that are no pair":             struct{ C crossed }{crossed{42}},
		"a struct that embeds itself":          loop{X: 1},
		"big.Int":                              struct{ N big.Int }{*big.NewInt(123)},
		"an embedded address and a zero field": endpoint{address, 0},
	} {
		roundTrip(t, name, in)
	}
	roundTrip(t, "any value in an interface", map[string]any{"total": "x"})
	if payload, err := Encode(map[string]any{"total": money{500, "EUR"}}); err != nil || string(payload) != `{"total":"500 EUR"}` {
		t.Errorf("JSON methods only, in an interface: %q, %v", payload, err)
	}
	if lines.Len() > 0 {
		t.Errorf("the msgpack library has logged %s", &lines)
	}
}

func TestAValueOfManySharedPartsIsRefusedSoon(t *testing.T) {
	for name, leaf := range map[string]any{"msgpack": 1, "JSON": money{1, "x"}} {
		value := leaf
		for range 60 {
			value = []any{value, value}
		}
		if _, err := Encode(value); err == nil {
			t.Errorf("%s: 2^60 values are encoded", name)
		}
	}
}

func TestDifferentArgumentsHaveDifferentBytes(t *testing.T) {
	for name, pair := range map[string][2]any{
		"money":             {struct{ Total money }{money{1, "EUR"}}, struct{ Total money }{money{2, "EUR"}}},
		"JSON and a number": {json.RawMessage("5"), 53},
	} {
		first, err := EncodeStable(pair[0])
		second, failed := EncodeStable(pair[1])
		if err != nil || failed != nil || string(first) == string(second) {
			t.Errorf("%s: %q and %q, %v, %v", name, first, second, err, failed)
		}
	}
	again, err := EncodeStable(map[string]money{"b": {2, "EUR"}, "a": {1, "EUR"}, "c": {3, "EUR"}})
	if want := `{"a":"1 EUR","b":"2 EUR","c":"3 EUR"}`; err != nil || string(again) != want {
		t.Errorf("got %s, %v, want %s", again, err, want)
	}
}

func TestWhatNeitherFormatKeepsIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		in    any
		field string
	}{
		"an opaque struct":                 {struct{ In withoutFields }{}, "args.In"},
		"an opaque struct in a slice":      {struct{ In []withoutFields }{make([]withoutFields, 1)}, "args.In[0]"},
		"an opaque struct in an interface": {map[string]any{"a": withoutFields{}}, "args[…]"},
		"an error in an interface":         {map[string]any{"a": errors.New("x")}, "args[…]"},
		"a mutex":                          {&struct{ Mu sync.Mutex }{}, "args.Mu"},
		"an embedded mutex":                {&struct{ sync.Mutex }{}, "args"},
		"an embedded mutex beside a field": {&struct {
			sync.Mutex
			ID int
		}{}, "args.Mutex"},
		"an interface with methods": {struct{ S fmt.Stringer }{time.Second}, "args.S"},
		"a hidden field": {struct {
			Base
			ID int
		}{Base{1}, 2}, "args.ID"},
		"two fields of one name":                    {twins(), "args.A"},
		"an embedded pointer of an unexported type": {struct{ *base }{&base{1}}, "args.base"},
		"an embedded unexported number": {struct {
			Name string
			level
		}{"x", 2}, "args.level"},
		"an embedded number whose JSON methods hide a field": {struct {
			Name string
			status
		}{"x", 2}, "args"},
		"an embedded address beside a field":  {endpoint{netip.MustParseAddr("::1"), 80}, "args"},
		"a text that is encoded as ***":       {struct{ S redacted }{"secret"}, "args.S"},
		"a method for encoding only":          {struct{ W writeOnly }{writeOnly{1}}, "args.W"},
		"a pointer's methods in a map":        {map[string]pointed{"a": {1}}, "args[…]"},
		"a pointer's methods in an interface": {struct{ V any }{pointed{1}}, "args.V"},
		"big.Int in a map":                    {map[string]big.Int{"a": {}}, "args[…]"},
		"uintptr":                             {struct{ P uintptr }{1}, "args.P"},
		"a complex number":                    {struct{ C complex128 }{}, "args.C"},
		"a channel":                           {struct{ C chan int }{}, "args.C"},
		"a function":                          {struct{ F func() }{}, "args.F"},
		"a large number beside money":         {map[string]any{"m": money{}, "n": int64(1<<53 + 1)}, "args[…]"},
		"bytes in an interface beside money":  {map[string]any{"m": money{}, "b": []byte("x")}, "args[…]"},
		"no UTF-8 beside money": {struct {
			M money
			S string
		}{money{1, "x"}, "\xff"}, "args.S"},
		"a field that only JSON would store": {struct {
			M      money
			Secret string `msgpack:"-"`
		}{money{1, "x"}, "s"}, "args.Secret"},
		"raw text that is no JSON": {json.RawMessage("a"), "args"},
		"a marshaller that fails":  {struct{ M []money }{nil}, ""},
	} {
		_, err := Encode(c.in)
		var invalid *protocol.InvalidError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.field != "" && (!errors.As(err, &invalid) || invalid.Field != c.field):
			t.Errorf("%s: got %v, want an InvalidError of %s", name, err, c.field)
		case err != nil && strings.Contains(err.Error(), "msgpack:"):
			t.Errorf("%s: the error has words of the msgpack library: %v", name, err)
		}
	}
}
