package wire

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestAWholeNumberThatDoesNotFitIsAnErrorThatNamesTheField(t *testing.T) {
	type large struct{ N int64 }
	for name, c := range map[string]struct {
		in   any
		out  any
		want string // empty: it fits
	}{
		"300 in int8":           {large{300}, new(struct{ N int8 }), "N: a number does not fit int8"},
		"-129 in int8":          {large{-129}, new(struct{ N int8 }), "N: a number does not fit int8"},
		"-128 in int8":          {large{-128}, new(struct{ N int8 }), ""},
		"5e9 in uint32":         {large{5e9}, new(struct{ N uint32 }), "N: a number does not fit uint32"},
		"-1 in uint32":          {large{-1}, new(struct{ N uint32 }), "N: a number does not fit uint32"},
		"-1 in uint64":          {large{-1}, new(struct{ N uint64 }), "N: a number does not fit uint64"},
		"2^64-1 in int":         {struct{ N uint64 }{math.MaxUint64}, new(struct{ N int }), "N: a number does not fit int"},
		"2^64-1 in uint64":      {struct{ N uint64 }{math.MaxUint64}, new(struct{ N uint64 }), ""},
		"2^53+1 in float64":     {large{1<<53 + 1}, new(struct{ N float64 }), "N: a number does not fit float64"},
		"2^60 in float64":       {large{1 << 60}, new(struct{ N float64 }), ""},
		"2^63 in float64":       {struct{ N uint64 }{1 << 63}, new(struct{ N float64 }), "N: a number does not fit float64"},
		"2^24+1 in float32":     {large{1<<24 + 1}, new(struct{ N float32 }), "N: a number does not fit float32"},
		"in a slice of structs": {[]large{{1}, {300}}, new([]struct{ N uint8 }), "[1].N: a number does not fit uint8"},
		"in a map":              {map[string]int{"a": 300}, new(map[string]int8), "[…]: a number does not fit int8"},
		"as a key":              {map[int]int{300: 1}, new(map[int8]int), "a map does not fit map[int8]int"},
		"behind pointers":       {struct{ P *large }{&large{300}}, new(struct{ P *struct{ N **int8 } }), "P.N: a number does not fit **int8"},
		"in an ignored field":   {struct{ A, B int }{1, 300}, new(struct{ A int8 }), ""},
		"at the top":            {300, new(int8), "a number does not fit int8"},
		"a named number":        {300, new(tiny), "a number does not fit wire.tiny"},
		"with JSON methods":     {struct{ L large }{large{300}}, new(struct{ L jsonTiny }), "L.N: a number does not fit int8"},
		"a large number elsewhere": {struct{ A, B int }{300, 1}, new(struct {
			A int
			B int8
		}), ""},
		"in an embedded struct": {struct{ N int }{300}, new(struct{ innerTiny }), "N: a number does not fit int8"},
	} {
		payload, err := Encode(c.in)
		if err != nil {
			t.Fatal(err)
		}
		err = Decode(payload, c.out)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want := "chime: decode into " + reflect.TypeOf(c.out).String() + ": " + c.want; c.want == "" && err != nil || c.want != "" && (got != want || !isFinal(err)) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, want)
		}
	}
}

type tiny int8

type jsonTiny struct{ N int8 }

func (jsonTiny) UnmarshalJSON([]byte) error { return nil }

type innerTiny struct{ N int8 }

func TestAnArrayIsNotReadIntoTheFieldsOfAStruct(t *testing.T) {
	for name, c := range map[string]struct {
		in, out any
		want    string
	}{
		"as many as the fields": {[]int{1, 2}, new(struct{ A, B int }), "an array does not fit struct { A int; B int }"},
		"none":                  {[]int{}, new(struct{ A int }), "an array does not fit struct { A int }"},
		"in a field":            {map[string]any{"In": []int{1}}, new(struct{ In *struct{ A int } }), "In: an array does not fit *struct { A int }"},
		"with as_array":         {tuple{A: 1, B: "b"}, new(tuple), ""},
		"beside a slice":        {struct{ List []int }{[]int{1}}, new(struct{ List []int }), ""},
	} {
		payload, err := Encode(c.in)
		if err != nil {
			t.Fatal(err)
		}
		err = Decode(payload, c.out)
		if want := "chime: decode into " + reflect.TypeOf(c.out).String() + ": " + c.want; c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, want)
		}
	}
}

// TestNumbersArriveAsTheyAreOrNotAtAll compares every pair of number types on values near their limits.
func TestNumbersArriveAsTheyAreOrNotAtAll(t *testing.T) {
	types := []reflect.Type{
		reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[uint8](),
		reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		from, to := types[random.IntN(8)], types[random.IntN(len(types))]
		in := reflect.New(from).Elem()
		n := uint64(1)<<random.IntN(65) + uint64(random.IntN(3)) - 1
		if in.CanInt() {
			in.SetInt(int64(n) << (64 - from.Bits()) >> (64 - from.Bits()))
		} else {
			in.SetUint(n << (64 - from.Bits()) >> (64 - from.Bits()))
		}
		payload, err := Encode(in.Interface())
		if err != nil {
			t.Fatal(err)
		}
		out := reflect.New(to)
		if Decode(payload, out.Interface()) != nil {
			continue // it does not fit
		}
		if back := out.Elem().Convert(from); !back.Equal(in) || out.Elem().CanInt() && in.CanUint() && out.Elem().Int() < 0 ||
			out.Elem().CanUint() && in.CanInt() && in.Int() < 0 {
			t.Fatalf("%v(%v) arrived as %v(%v)", from, in, to, out.Elem())
		}
	}
}

type embedsItself struct {
	//lint:ignore U1000 it is read by reflection
	*embedsItself
	X int
}

func TestAStructThatEmbedsItselfIsNotDecodedFromMsgpack(t *testing.T) {
	if err := Decode([]byte("\x81\xa1X\x01"), new(embedsItself)); !errors.Is(err, errRecursive) {
		t.Errorf("got %v, want %v", err, errRecursive)
	}
}

func TestAnEmptyPayloadIsAnErrorForATypedHandler(t *testing.T) {
	for _, target := range []any{new(address), new(int), new(string), new([2]int), new(bool)} {
		if err := DecodeArgs(nil, target); !isFinal(err) {
			t.Errorf("%T: got %v, want a *DecodeError", target, err)
		}
	}
	for _, target := range []any{new(struct{}), new(*address), new([]int), new(map[string]int), new([]byte), new(any)} {
		if err := DecodeArgs(nil, target); err != nil {
			t.Errorf("%T: %v", target, err)
		}
	}
}
