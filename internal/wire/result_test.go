package wire

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestAResultIsDecodedAsItWasEncoded(t *testing.T) {
	at := time.Date(2026, 3, 8, 9, 0, 0, 123e6, time.UTC)
	for _, want := range []Result{
		{Name: "a"},
		{Name: "a", Schedule: "s", Planned: at, Started: at, Ended: at, Keep: time.Hour, Attempt: 3, Error: "no", Worker: "w", Note: "n", Value: []byte{1}},
	} {
		got, err := DecodeResult(want.Encode())
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
	}
}

func FuzzDecodeResult(f *testing.F) {
	f.Add((&Result{Name: "a", Ended: time.UnixMilli(1), Value: []byte("v")}).Encode())
	f.Add([]byte{})
	f.Add([]byte{1, 0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeResult(body)
		if len(body) > 0 && body[0]&^SealedFlag > Version && !errors.Is(err, ErrNewerVersion) {
			t.Errorf("% x: %v, want ErrNewerVersion", body, err)
		}
		if err != nil {
			return
		}
		again, err := DecodeResult(r.Encode())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("% x: got %+v, %v\nwant %+v", body, again, err, r)
		}
	})
}
