package wire

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestAViewShowsWhatAHandlerGets(t *testing.T) {
	for _, c := range []struct {
		args any
		want string
	}{
		{json.RawMessage("5"), "5"},
		{53, "53"}, // the byte "5"
		{json.RawMessage(`{"a": 1, "b": [true]}`), `{"a":1,"b":[true]}`},
		{[]byte(`{"a": 1}`), `{"a":1}`},
		{json.RawMessage("12345678901234567890.5"), "12345678901234567890.5"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{[]any{nil, true, -1, 200, 1.5, float32(0.5), "a\"", math.Inf(1)}, `[null,true,-1,200,1.5,0.5,"a\"","+Inf"]`},
		{map[int]string{-7: "x"}, `{"-7":"x"}`},
		{map[bool]int{true: 1}, `{"true":1}`},
		{struct{ Raw, Text []byte }{[]byte{0xff}, []byte("a")}, `{"Raw":"/w==","Text":"a"}`},
		{[]time.Time{time.Unix(5, 0), time.Unix(5, 7), time.Unix(-5, 7)}, `["1970-01-01T00:00:05Z","1970-01-01T00:00:05.000000007Z","1969-12-31T23:59:55.000000007Z"]`},
		{struct{ Total money }{money{5, "EUR"}}, `{"Total":"5 EUR"}`},
	} {
		payload, err := Encode(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := View(payload); !ok || string(got) != c.want {
			t.Errorf("%#v is shown as %s, %t, want %s", c.args, got, ok, c.want)
		}
	}
	for _, payload := range []string{"", "hello", "{}x", "\xc1"} {
		if got, ok := View([]byte(payload)); ok {
			t.Errorf("%q is shown as %s", payload, got)
		}
	}
}
