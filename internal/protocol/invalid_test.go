package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAnInvalidErrorSaysFieldValueAndLimit(t *testing.T) {
	cause := errors.New("too strange")
	for want, err := range map[string]*InvalidError{
		`queue "a b": want letters`:                          Invalid("queue", "a b", "letters"),
		`queue "nil": want letters`:                          Invalid("queue", "nil", "letters"),
		`queue is missing: want letters`:                     Invalid("queue", "", "letters"),
		`ctx is nil: want a context`:                         ErrNilContext,
		`timeout -1.5s: want 1ms to 8760h0m0s`:               Invalid("timeout", (-1500 * time.Millisecond).String(), "1ms to 8760h0m0s"),
		`at 2226-01-01T00:00:00Z: want at most 1`:            Invalid("at", "2226-01-01T00:00:00Z", "at most 1"),
		`args 1048577 bytes (too strange): want less`:        Wrapping(Invalid("args", "1048577 bytes", "less"), cause),
		`ID "1 \n2" has a line end: want one line`:           Because(Invalid("ID", "1 \n2", "one line"), "has a line end"),
		`x "` + strings.Repeat("é", 32) + `…": want é`:       Invalid("x", strings.Repeat("é", 500), "é"),
		`x "` + "a" + strings.Repeat("é", 31) + `…": want é`: Invalid("x", "a"+strings.Repeat("é", 500), "é"),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if !errors.Is(Wrapping(Invalid("a", "b", "c"), cause), cause) {
		t.Error("errors.Is does not find the cause")
	}
}

func TestErrorsIsFindsTheErrorOfAField(t *testing.T) {
	err := fmt.Errorf("chime: %w", errors.Join(Invalid("queue", "a b", "x"), Invalid("timeout", "0s", "y")))
	for target, want := range map[*InvalidError]bool{
		{}: true, {Field: "queue"}: true, {Field: "timeout"}: true, {Field: "timeout", Value: "0s"}: true, {Limit: "y"}: true,
		{Field: "ID"}: false, {Field: "queue", Value: "0s"}: false, {Limit: "z"}: false,
	} {
		if got := errors.Is(err, target); got != want {
			t.Errorf("%+v: %v, want %v", *target, got, want)
		}
	}
}
