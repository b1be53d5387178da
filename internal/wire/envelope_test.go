package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestAnEnvelopeIsDecodedAsItWasEncoded(t *testing.T) {
	planned := time.Date(2026, 3, 8, 9, 0, 0, 123e6, time.UTC)
	for _, want := range []Envelope{
		{Name: "a"},
		{Name: "a", Planned: planned},
		{Name: "a", Payload: []byte("p"), Planned: planned, MaxAttempts: 1},
		{Name: "a", Payload: bytes.Repeat([]byte{0xc1}, 300), Timeout: time.Hour},
		{Name: strings.Repeat("n", 100), Payload: make([]byte, 70000), Failures: 24},
		{Name: "a", Schedule: "report", Planned: planned},
		{Name: "a", Planned: time.UnixMilli(-5).UTC(), LastError: "no such host"},
		{Name: "a", Details: &Details{}},
		{Name: "a", Payload: []byte{1}, Planned: planned, Details: &Details{Keep: time.Hour}, Expires: planned.Add(time.Minute)},
		{Name: "a", Details: &Details{Enqueued: planned, Header: map[string]string{"tenant": "é", "": ""}, Keep: time.Hour}},
		{Name: "a", Failures: 2, Details: &Details{
			Failures: []Failure{{At: planned, Worker: "w1", Error: "no such host"}, {At: planned.Add(time.Minute)}},
			Retry:    Retry{time.Second, time.Hour}, OnDeath: []byte{1, 2}, Death: &Death{Queue: "q", ID: "r@2026-03-08T09:00:00Z", Crashes: 3, Ended: planned, Body: []byte{3}},
		}},
		{Name: "a", Details: &Details{OnDone: []byte{1}, In: time.Minute, Queue: "q", Prior: &Prior{Queue: "q", ID: "r#done-5.1", Crashes: 1, Body: []byte{2}, Result: []byte{3}}}},
		{Name: "a", Details: &Details{Enqueued: planned, In: time.Minute}},
		{Name: "a", MaxAttempts: 1 << 30, Timeout: 100 * time.Millisecond, Failures: 3, Schedule: "s", LastError: "e", Stack: "main.go:1\n\tx"},
	} {
		body := want.Encode()
		got, err := DecodeEnvelope(body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
		version := byte(Version)
		if !want.Expires.IsZero() { // with the version before, the instant has no effect
			version = ExpiringVersion
			lasting := want
			lasting.Expires = time.Time{}
			if got, err := DecodeEnvelope(append([]byte{Version}, body[1:]...)); err != nil || !reflect.DeepEqual(got, lasting) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, lasting)
			}
		}
		if body[0] != version || body[1]&0xf0 != 0x90 {
			t.Errorf("body begins with %x, want the version and an array", body[:2])
		}
	}
}

func TestANewBodyHas14BytesPlusNameAndPayload(t *testing.T) {
	e := Envelope{Name: "email:welcome", Payload: make([]byte, 100), Planned: time.UnixMilli(1780000000000)}
	if got, want := len(e.Encode()), 14+len(e.Name)+len(e.Payload); got != want {
		t.Errorf("body has %d bytes, want %d", got, want)
	}
}

func TestATimeoutIsRoundedUpToMilliseconds(t *testing.T) {
	e := Envelope{Name: "a", Timeout: time.Second + 1}
	got, err := DecodeEnvelope(e.Encode())
	if err != nil || got.Timeout != time.Second+time.Millisecond {
		t.Errorf("got %v, %v", got.Timeout, err)
	}
}

func TestDecodeEnvelopeRefusesBadBodies(t *testing.T) {
	newer := append([]byte{255}, appendText(appendArray(nil, 2), "report")...)
	for name, test := range map[string]struct {
		body  []byte
		named string
		newer bool
	}{
		"nothing":                   {nil, NoName, false},
		"the store's mark":          {[]byte{0}, NoName, false},
		"version alone":             {[]byte{1}, NoName, false},
		"a map":                     {[]byte{1, 0x80}, NoName, false},
		"too few elements":          {[]byte{1, 0x91, 0xa1, 'a'}, NoName, false},
		"a name that is a number":   {[]byte{1, 0x93, 1, 0xc4, 0, 0xc0}, NoName, false},
		"attempts below zero":       {append([]byte{1, 0x94, 0xa1, 'a', 0xc4, 0, 0xc0}, 0xff), "a", false},
		"bytes after the end":       {[]byte{1, 0x93, 0xa1, 'a', 0xc4, 0, 0xc0, 0}, NoName, false},
		"a length that is too long": {[]byte{1, 0xdd, 0xff, 0xff, 0xff, 0xff}, NoName, false},
		"deep":                      {append([]byte{1}, bytes.Repeat([]byte{0x91}, 4<<20)...), NoName, false},
		"newer with a name":         {newer, "report", true},
		"newer, cut short":          {newer[:5], NoName, true},
		"an expiry that is a text":  {append([]byte{2, 0x9b, 0xa1, 'a', 0xc4, 0, 0xc0, 0, 0, 0, 0xa0, 0xa0, 0xa0, 0xc4, 1, 0x80}, 0xa0), "a", false},
		"newer, of another layout":  {[]byte{3, 0xc0}, NoName, true},
		"newer with a bad name":     {append([]byte{3, 0x91}, appendText(nil, "../x")...), NoName, true},
	} {
		got, err := DecodeEnvelope(test.body)
		if err == nil || errors.Is(err, ErrNewerVersion) != test.newer || got.Name != test.named {
			t.Errorf("%s: got name %q, error %v; want name %q, newer %v", name, got.Name, err, test.named, test.newer)
		}
	}
}

func TestAnInvalidNameIsDecodedAsNoName(t *testing.T) {
	for _, name := range []string{"../x", "", "a b", "nul\x00", strings.Repeat("n", 101), strings.Repeat("n", 1<<20), "a}b"} {
		e := Envelope{Name: name}
		if got, err := DecodeEnvelope(e.Encode()); err != nil || got.Name != NoName {
			t.Errorf("name %.20q was decoded as %q, %v; want %q", name, got.Name, err, NoName)
		}
	}
}

func TestElementsOfLaterVersionsAreIgnored(t *testing.T) {
	e := Envelope{Name: "a", Stack: "s", Details: &Details{}}
	body := e.Encode()
	body[1]++
	body = append(body, 0x92, 1, 0xc0)
	if got, err := DecodeEnvelope(body); err != nil || got.Name != "a" || got.Stack != "s" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestErrorTextsAreShortenedAndEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode ☃":        "plain ünïcode ☃",
		"red \x1b[31m\r\n":       `red \x1b[31m` + "\n",
		"\tone\r\ntwo\rthree\n":  "\tone\ntwo\\rthree\n",
		"bad \xff utf-8":         `bad \xff utf-8`,
		"nul\x00 del\x7f":        `nul\x00 del\x7f`,
		"bidi \u202e line\u2028": `bidi \u202e line\u2028`,
	} {
		e := Envelope{Name: "a", LastError: in}
		if got, err := DecodeEnvelope(e.Encode()); err != nil || got.LastError != want {
			t.Errorf("%q is stored as %q, %v; want %q", in, got.LastError, err, want)
		}
	}
	for _, in := range []string{strings.Repeat("x", 10<<20), strings.Repeat("\x1b", 10<<20), strings.Repeat("☃", 1<<20)} {
		e := Envelope{Name: "a", LastError: in, Stack: in}
		got, err := DecodeEnvelope(e.Encode())
		if err != nil || len(got.LastError) > maxErrorText || len(got.LastError) < maxErrorText-16 || !strings.HasSuffix(got.LastError, "…") {
			t.Errorf("%.4q… is stored in %d bytes, %v", in, len(got.LastError), err)
		}
		if len(got.Stack) > maxStackText || len(got.Stack) < maxStackText-16 {
			t.Errorf("stack of %.4q… is stored in %d bytes", in, len(got.Stack))
		}
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	full := Envelope{Name: "a", Payload: []byte("p"), Planned: time.UnixMilli(1), MaxAttempts: 2, Timeout: time.Second, Failures: 3, Schedule: "s", LastError: "e", Stack: "st"}
	f.Add(full.Encode())
	f.Add((&Envelope{Name: "a"}).Encode())
	full.Details = &Details{
		Failures: []Failure{{At: time.UnixMilli(5), Worker: "w", Error: "e"}}, Header: map[string]string{"k": "v"}, Retry: Retry{1, 2}, Keep: time.Second,
		OnDeath: []byte("o"), Death: &Death{Queue: "q", ID: "i", Ended: time.UnixMilli(6), Body: []byte("b")}, Enqueued: time.UnixMilli(7),
		OnDone: []byte("n"), In: time.Second, Queue: "q", Prior: &Prior{Queue: "q", ID: "i", Body: []byte("b"), Result: []byte("r")},
	}
	f.Add(full.Encode())
	f.Add([]byte{1, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{2, 0x91, 0xa1, 'x'})
	f.Add((&Envelope{Name: "a", Expires: time.UnixMilli(1780000000000)}).Encode())
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := DecodeEnvelope(body)
		if e.Name != NoName && protocol.CheckName("name", e.Name) != nil {
			t.Errorf("%x: name %q", body, e.Name)
		}
		if err != nil {
			return
		}
		for _, text := range []string{e.LastError, e.Stack} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
				t.Errorf("%x: text %q", body, text)
			}
		}
		again, err := DecodeEnvelope(e.Encode())
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%x: got %+v, %v\nwant %+v", body, again, err, e)
		}
	})
}

func BenchmarkEncodeEnvelope(b *testing.B) {
	e := Envelope{Name: "email:welcome", Payload: make([]byte, 100), Planned: time.UnixMilli(1780000000000)}
	b.ReportAllocs()
	for b.Loop() {
		e.Encode()
	}
}

func BenchmarkDecodeEnvelope(b *testing.B) {
	e := Envelope{Name: "email:welcome", Payload: make([]byte, 100), Planned: time.UnixMilli(1780000000000)}
	body := e.Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeEnvelope(body); err != nil {
			b.Fatal(err)
		}
	}
}
