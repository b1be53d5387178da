package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

type argsBothTags struct {
	Customer string `json:"customer" msgpack:"c"`
	Amount   int64  `json:"amount,omitempty"`
	Plain    string
	Hidden   string `json:"-"`
	When     time.Time
	Wait     time.Duration
	Tags     map[string]string
	List     []int
	Raw      []byte
	Inner    *argsBothTags `json:"inner,omitempty"`
}

func TestArgumentsAreDecodedAsTheyWereEncoded(t *testing.T) {
	now := time.Date(2026, 3, 29, 2, 30, 0, 123456789, time.FixedZone("", 3600))
	in := argsBothTags{
		Customer: "a", Amount: -5, Plain: "p", When: now, Wait: time.Minute, Tags: map[string]string{"k": "v"},
		List: []int{1, math.MaxInt64, math.MinInt64}, Raw: []byte{0, 1}, Inner: &argsBothTags{Customer: "b"},
	}
	payload, err := Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var out argsBothTags
	if err := Decode(payload, &out); err != nil {
		t.Fatal(err)
	}
	if !out.When.Equal(now) {
		t.Errorf("time came back as %v, want the instant %v", out.When, now)
	}
	out.When, out.Inner.When = in.When, in.Inner.When
	if !reflect.DeepEqual(in, out) {
		t.Errorf("got %+v\nwant %+v", out, in)
	}
}

func TestFieldsHaveTheNamesOfTheirTags(t *testing.T) {
	payload, err := Encode(argsBothTags{Customer: "a", Amount: 1, Plain: "p", Hidden: "h"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := Decode(payload, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"c": "a", "amount": int64(1), "Plain": "p"} {
		if got[name] != want {
			t.Errorf("field %q is %#v, want %#v", name, got[name], want)
		}
	}
	for _, name := range []string{"customer", "Customer", "Amount", "Hidden", "-", "inner"} {
		if _, ok := got[name]; ok {
			t.Errorf("the payload has a field %q, want none", name)
		}
	}
}

func TestRawArgumentsAreStoredAsTheyAre(t *testing.T) {
	for _, test := range []struct {
		args any
		want string
	}{
		{nil, ""},
		{[]byte(nil), ""},
		{[]byte("any\x00bytes"), "any\x00bytes"},
		{json.RawMessage(`{"to":"a"}`), `{"to":"a"}`},
		{json.RawMessage(" {\"to\": \"a\"}\n"), " {\"to\": \"a\"}\n"},
		{[]byte("5"), "5"},
	} {
		payload, err := Encode(test.args)
		if err != nil || string(payload) != test.want {
			t.Errorf("Encode(%#v) = %q, %v; want %q", test.args, payload, err, test.want)
		}
		if len(payload) == 0 {
			continue
		}
		var raw []byte
		var message json.RawMessage
		if err := errors.Join(Decode(payload, &raw), Decode(payload, &message)); err != nil {
			t.Error(err)
		}
		if string(raw) != test.want || string(message) != test.want {
			t.Errorf("%q came back as %q and %q", test.want, raw, message)
		}
	}
}

func TestRawJSONIsDecodedAsJSON(t *testing.T) {
	var got struct {
		To string `json:"to"`
	}
	if err := Decode([]byte(` {"to":"a","more":[1]}`), &got); err != nil || got.To != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
	var n int
	if err := Decode([]byte("123"), &n); err != nil || n != 123 {
		t.Errorf("got %d, %v", n, err)
	}
	if err := Decode([]byte("7"), &n); err != nil || n != '7' {
		t.Errorf("a single digit is msgpack: got %d, %v", n, err)
	}
}

func TestRawJSONOfOneDigitIsTheSameNumber(t *testing.T) {
	for digit := range 10 {
		raw := json.RawMessage(strconv.Itoa(digit))
		for _, args := range []any{raw, &raw} {
			payload, err := Encode(args)
			if err != nil || string(payload) != " "+string(raw) {
				t.Fatalf("%s is stored as %q, %v, want a blank before it: every version reads this as JSON", raw, payload, err)
			}
			var n int
			var message json.RawMessage
			if err := errors.Join(Decode(payload, &n), Decode(payload, &message)); err != nil || n != digit || string(message) != string(raw) {
				t.Errorf("%s came back as %d and %q, %v", raw, n, message, err)
			}
		}
	}
	var message json.RawMessage
	if err := Decode([]byte(" 55"), &message); err != nil || string(message) != " 55" {
		t.Errorf("another payload with a blank came back as %q, %v", message, err)
	}
}

func TestAnEmptyPayloadLeavesTheTargetAlone(t *testing.T) {
	got := argsBothTags{Customer: "before"}
	if err := Decode(nil, &got); err != nil || got.Customer != "before" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	payload, err := Encode(map[string]any{"c": "a", "new": []any{map[string]any{"x": time.Now()}}, "Plain": "p"})
	if err != nil {
		t.Fatal(err)
	}
	var got argsBothTags
	if err := Decode(payload, &got); err != nil || got.Customer != "a" || got.Plain != "p" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEqualArgumentsOfAScheduleHaveEqualBytes(t *testing.T) {
	type inner struct{ M map[int]map[string]any }
	var first []byte
	for range 50 {
		m := inner{M: map[int]map[string]any{}}
		for i := range 20 {
			m.M[i*1000] = map[string]any{"a": 1, "b": []any{map[string]int{"y": 1, "x": 0}}, "c": "x", "at": time.Unix(5, 7)}
		}
		payload, err := EncodeStable(m)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = payload
		}
		if !bytes.Equal(first, payload) {
			t.Fatalf("got %x\nand %x", first, payload)
		}
		var back inner
		if err := Decode(payload, &back); err != nil || len(back.M) != 20 || len(back.M[3000]) != 4 {
			t.Fatalf("came back as %+v, %v", back, err)
		}
	}
}

type selfish struct{ Next *selfish }

type panics struct{}

func (panics) MarshalMsgpack() ([]byte, error) { panic("marshal") }
func (*panics) UnmarshalMsgpack([]byte) error  { panic("unmarshal") }

type writesNonsense struct{}

func (writesNonsense) MarshalMsgpack() ([]byte, error) {
	return []byte{0xdd, 0xff, 0xff, 0xff, 0xff}, nil
}

func TestArgumentsThatCannotBeEncodedAreRefused(t *testing.T) {
	loop := &selfish{}
	loop.Next = loop
	deep := any(1)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for name, args := range map[string]any{
		"a channel": make(chan int), "a function": func() {}, "a field that is a channel": struct{ C chan int }{make(chan int)},
		"a value that contains itself": loop, "65 levels": deep, "a marshaller that panics": panics{},
		"a marshaller that writes nonsense": writesNonsense{},
	} {
		if payload, err := Encode(args); err == nil {
			t.Errorf("%s gave %d bytes, want an error", name, len(payload))
		}
	}
	if _, err := Encode(deep.([]any)[0]); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	if _, err := Encode(map[string]int{"after": 1}); err != nil {
		t.Errorf("good arguments after refused ones: %v", err)
	}
}

// bombs are payloads that make an unprotected decoder allocate or recurse without bound, and other bad ones.
func bombs() map[string][]byte {
	return map[string][]byte{
		"array of 4 billion":           {0xdd, 0xff, 0xff, 0xff, 0xff},
		"map of 4 billion":             {0xdf, 0xff, 0xff, 0xff, 0xff},
		"string of 4 GiB":              {0xdb, 0xff, 0xff, 0xff, 0xff},
		"binary of 4 GiB":              {0xc6, 0xff, 0xff, 0xff, 0xff},
		"extension of 4 GiB":           {0xc9, 0xff, 0xff, 0xff, 0xff, 1},
		"4 MiB of arrays":              bytes.Repeat([]byte{0x91}, 4<<20),
		"4 MiB of maps":                bytes.Repeat([]byte{0x81}, 4<<20),
		"deep maps":                    append(bytes.Repeat([]byte{0x81, 0xa1, 'a'}, 1<<20), 0xc0),
		"2 million nils":               append([]byte{0xdd, 0, 0x20, 0, 0}, bytes.Repeat([]byte{0xc0}, 2<<20)...),
		"extension of an unknown type": {0xd4, 5, 0},
		"timestamp of no length":       {0xc7, 0, 0xff},
		"interned string":              {0xd4, 0x80, 0},
		"an unused code":               {0xc1},
		"two values":                   {0xc0, 0xc0},
		"half a string":                {0xa5, 'a'},
		"half a float":                 {0xcb, 0},
		"json cut short":               []byte(`{"a":`),
		"1M brackets":                  bytes.Repeat([]byte{'['}, 1<<20),
	}
}

func isFinal(err error) bool {
	final := (*DecodeError)(nil)
	return errors.As(err, &final)
}

func TestABadPayloadIsADecodeErrorAndAllocatesLittle(t *testing.T) {
	for name, payload := range bombs() {
		for _, target := range []any{new(any), new(argsBothTags), new(map[string]any), new([]any), new(string), new([]argsBothTags), new(struct{ Tags map[string]any })} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := Decode(payload, target)
			runtime.ReadMemStats(&after)
			if !isFinal(err) {
				t.Errorf("%s into %T: got %v, want a *DecodeError", name, target, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("%s into %T: %d bytes allocated", name, target, got)
			}
		}
	}
}

func TestATimestampIsNotReadAsAMap(t *testing.T) {
	bomb := []byte{0x81, 0xa4, 'T', 'a', 'g', 's', 0xd7, 0xff, 0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff}
	for _, target := range []any{new(argsBothTags), new(struct{ Tags map[string]any }), new(struct{ Tags map[int]any })} {
		if err := Decode(bomb, target); !errors.Is(err, errMisread) {
			t.Errorf("into %T: got %v, want %v", target, err, errMisread)
		}
	}
	var free map[string]any
	if err := Decode(bomb, &free); err != nil {
		t.Errorf("decoded as a timestamp: %v", err)
	}
}

func TestAnUnmarshallerThatPanicsIsAnError(t *testing.T) {
	err := Decode([]byte{0xc3}, new(panics))
	if err == nil || !strings.HasSuffix(err.Error(), "a boolean does not fit wire.panics: its decoder panicked") {
		t.Errorf("got %v, want that its decoder panicked", err)
	}
}

func TestDecodeWantsAPointer(t *testing.T) {
	for _, target := range []any{nil, argsBothTags{}, (*argsBothTags)(nil)} {
		if err := Decode([]byte{0x80}, target); err == nil || isFinal(err) {
			t.Errorf("decode into %#v: got %v, want an error that is not a *DecodeError", target, err)
		}
	}
}

func FuzzDecodeArgs(f *testing.F) {
	for _, payload := range bombs() {
		if len(payload) < 1<<10 {
			f.Add(payload)
		}
	}
	good, err := Encode(argsBothTags{Customer: "a", When: time.Unix(1<<40, 5), Tags: map[string]string{"k": "v"}, List: []int{1, 70000}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, payload []byte) {
		var typed argsBothTags
		var free any
		_ = Decode(payload, &typed)
		decoded := Decode(payload, &free) == nil
		if _, shown := View(payload); decoded && len(payload) > 0 && !shown {
			t.Errorf("%x can be decoded and has no view", payload)
		}
		if !decoded || isJSON(payload) || len(payload) == 0 {
			return
		}
		sorted, end := appendSorted(nil, payload, 0)
		if end != len(payload) || len(sorted) != len(payload) || walk(sorted, nil) != nil {
			t.Errorf("%x sorted is %x", payload, sorted)
		}
	})
}

func BenchmarkEncodeArgs(b *testing.B) {
	args := &argsBothTags{Customer: "customer-1", Amount: 12345, Plain: "plain", When: time.Unix(1780000000, 0), List: []int{1, 2, 3}}
	b.ReportAllocs()
	for b.Loop() {
		_, buf, err := EncodeTo(args, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		buf.Release()
	}
}

func BenchmarkEncodeSmallArgs(b *testing.B) {
	args := address{City: "Berlin", Box: 7}
	b.ReportAllocs()
	for b.Loop() {
		_, buf, err := EncodeTo(args, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		buf.Release()
	}
}

func BenchmarkDecodeArgs(b *testing.B) {
	payload, _ := Encode(&argsBothTags{Customer: "customer-1", Amount: 12345, Plain: "plain", When: time.Unix(1780000000, 0), List: []int{1, 2, 3}})
	b.ReportAllocs()
	for b.Loop() {
		var args argsBothTags
		if err := Decode(payload, &args); err != nil {
			b.Fatal(err)
		}
	}
}
