package chime

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

func TestEnvelopeComesBackAsItWas(t *testing.T) {
	planned := time.Date(2026, 3, 8, 9, 0, 0, 123e6, time.UTC)
	for _, want := range []envelope{
		{name: "a"},
		{name: "a", planned: planned},
		{name: "a", payload: []byte("p"), planned: planned, maxAttempts: 1},
		{name: "a", payload: bytes.Repeat([]byte{0xc1}, 300), timeout: time.Hour},
		{name: strings.Repeat("n", 100), payload: make([]byte, 70000), failures: 24},
		{name: "a", schedule: "report", planned: planned},
		{name: "a", planned: time.UnixMilli(-5).UTC(), lastError: "no such host"},
		{name: "a", maxAttempts: 1 << 30, timeout: 100 * time.Millisecond, failures: 3, schedule: "s", lastError: "e", stack: "main.go:1\n\tx"},
	} {
		body := want.encode()
		got, err := decodeEnvelope(body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
		if body[0] != envelopeVersion || body[1]&0xf0 != 0x90 {
			t.Errorf("body begins with %x, want the version and an array", body[:2])
		}
	}
}

func TestFreshJobCostsItsNameItsPayloadAnd14Bytes(t *testing.T) {
	e := envelope{name: "email:welcome", payload: make([]byte, 100), planned: time.UnixMilli(1780000000000)}
	if got, want := len(e.encode()), 14+len(e.name)+len(e.payload); got != want {
		t.Errorf("body has %d bytes, want %d", got, want)
	}
}

func TestTimeoutIsRoundedUpToMilliseconds(t *testing.T) {
	e := envelope{name: "a", timeout: time.Second + 1}
	got, err := decodeEnvelope(e.encode())
	if err != nil || got.timeout != time.Second+time.Millisecond {
		t.Errorf("got %v, %v", got.timeout, err)
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	newer := append([]byte{255}, appendText(appendArray(nil, 2), "report")...)
	for name, test := range map[string]struct {
		body  []byte
		named string
		newer bool
	}{
		"nothing":                   {nil, noName, false},
		"the store's mark":          {[]byte{0}, noName, false},
		"version alone":             {[]byte{1}, noName, false},
		"a map":                     {[]byte{1, 0x80}, noName, false},
		"too few elements":          {[]byte{1, 0x91, 0xa1, 'a'}, noName, false},
		"a name that is a number":   {[]byte{1, 0x93, 1, 0xc4, 0, 0xc0}, noName, false},
		"attempts below zero":       {append([]byte{1, 0x94, 0xa1, 'a', 0xc4, 0, 0xc0}, 0xff), "a", false},
		"bytes after the end":       {[]byte{1, 0x93, 0xa1, 'a', 0xc4, 0, 0xc0, 0}, noName, false},
		"a length that is not true": {[]byte{1, 0xdd, 0xff, 0xff, 0xff, 0xff}, noName, false},
		"deep":                      {append([]byte{1}, bytes.Repeat([]byte{0x91}, 4<<20)...), noName, false},
		"newer with a name":         {newer, "report", true},
		"newer, cut short":          {newer[:5], noName, true},
		"newer, of another layout":  {[]byte{2, 0xc0}, noName, true},
		"newer with a bad name":     {append([]byte{2, 0x91}, appendText(nil, "../x")...), noName, true},
	} {
		got, err := decodeEnvelope(test.body)
		if err == nil || errors.Is(err, errNewerVersion) != test.newer || got.name != test.named {
			t.Errorf("%s: got name %q, error %v; want name %q, newer %v", name, got.name, err, test.named, test.newer)
		}
	}
}

func TestNamesThatAreNoneBecomeOneThatNobodyHandles(t *testing.T) {
	for _, name := range []string{"../x", "", "a b", "nul\x00", strings.Repeat("n", 101), strings.Repeat("n", 1<<20), "a}b"} {
		e := envelope{name: name}
		if got, err := decodeEnvelope(e.encode()); err != nil || got.name != noName {
			t.Errorf("name %.20q came back as %q, %v; want %q", name, got.name, err, noName)
		}
	}
}

func TestElementsOfLaterTimesAreIgnored(t *testing.T) {
	e := envelope{name: "a", stack: "s"}
	body := e.encode()
	body[1]++
	body = append(body, 0x92, 1, 0xc0)
	if got, err := decodeEnvelope(body); err != nil || got.name != "a" || got.stack != "s" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestErrorsAreStoredShortAndHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode ☃":        "plain ünïcode ☃",
		"red \x1b[31m\r\n":       `red \x1b[31m\r\n`,
		"bad \xff utf-8":         `bad \xff utf-8`,
		"nul\x00 del\x7f":        `nul\x00 del\x7f`,
		"bidi \u202e line\u2028": `bidi \u202e line\u2028`,
	} {
		e := envelope{name: "a", lastError: in}
		if got, err := decodeEnvelope(e.encode()); err != nil || got.lastError != want {
			t.Errorf("%q is stored as %q, %v; want %q", in, got.lastError, err, want)
		}
	}
	for _, in := range []string{strings.Repeat("x", 10<<20), strings.Repeat("\x1b", 10<<20), strings.Repeat("☃", 1<<20)} {
		e := envelope{name: "a", lastError: in, stack: in}
		got, err := decodeEnvelope(e.encode())
		if err != nil || len(got.lastError) > maxErrorText || len(got.lastError) < maxErrorText-16 || !strings.HasSuffix(got.lastError, "…") {
			t.Errorf("%.4q… is stored in %d bytes, %v", in, len(got.lastError), err)
		}
		if len(got.stack) > maxStackText || len(got.stack) < maxStackText-16 {
			t.Errorf("stack of %.4q… is stored in %d bytes", in, len(got.stack))
		}
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	full := envelope{name: "a", payload: []byte("p"), planned: time.UnixMilli(1), maxAttempts: 2, timeout: time.Second, failures: 3, schedule: "s", lastError: "e", stack: "st"}
	f.Add(full.encode())
	f.Add((&envelope{name: "a"}).encode())
	f.Add([]byte{1, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{2, 0x91, 0xa1, 'x'})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decodeEnvelope(body)
		if e.name != noName && protocol.CheckName("name", e.name) != nil {
			t.Errorf("%x: name %q", body, e.name)
		}
		if err != nil {
			return
		}
		for _, text := range []string{e.lastError, e.stack} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
				t.Errorf("%x: text %q", body, text)
			}
		}
		again, err := decodeEnvelope(e.encode())
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%x: got %+v, %v\nwant %+v", body, again, err, e)
		}
	})
}

func BenchmarkEncodeEnvelope(b *testing.B) {
	e := envelope{name: "email:welcome", payload: make([]byte, 100), planned: time.UnixMilli(1780000000000)}
	b.ReportAllocs()
	for b.Loop() {
		e.encode()
	}
}

func BenchmarkDecodeEnvelope(b *testing.B) {
	e := envelope{name: "email:welcome", payload: make([]byte, 100), planned: time.UnixMilli(1780000000000)}
	body := e.encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeEnvelope(body); err != nil {
			b.Fatal(err)
		}
	}
}
