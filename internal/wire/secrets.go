package wire

import (
	"bytes"
	"errors"
)

// MaxSealing is how much longer a sealed value may be than the plain one, in bytes.
const MaxSealing = 1 << 10

// ErrorTexts are the texts of an envelope's errors, which are sealed together.
type ErrorTexts struct {
	Last     string        `json:"l,omitempty"`
	Stack    string        `json:"s,omitempty"`
	Failures []FailureText `json:"f,omitempty"`
}

// A FailureText is the text of one of Details.Failures, which it finds by its instant: scripts and programs without the key add failures.
type FailureText struct {
	At   int64  `json:"t"` // Unix ms
	Text string `json:"e"`
}

var errSecrets = errors.New("what was sealed has another form")

// TakeErrors removes the texts of the errors from an envelope, and returns them encoded; nil: none.
func (e *Envelope) TakeErrors() []byte {
	texts := ErrorTexts{Last: PrintableLines(e.LastError, maxErrorText), Stack: PrintableLines(e.Stack, maxStackText)}
	e.LastError, e.Stack = "", ""
	if e.Details != nil && len(e.Details.Failures) > 0 {
		details := *e.Details
		details.Failures = append([]Failure(nil), details.Failures...)
		for i := range details.Failures {
			f := &details.Failures[i]
			if f.Error != "" {
				texts.Failures = append(texts.Failures, FailureText{f.At.UnixMilli(), PrintableLines(f.Error, maxFailureText)})
			}
			f.Error = ""
		}
		e.Details = &details
	}
	if texts.Last == "" && texts.Stack == "" && texts.Failures == nil {
		return nil
	}
	encoded, err := Encode(texts)
	if err != nil {
		panic(err) // it has strings and numbers only, and less than MaxEncoded of them
	}
	return encoded
}

// GiveErrors puts back what TakeErrors has returned. A text that was written since remains.
func (e *Envelope) GiveErrors(encoded []byte) error {
	var texts ErrorTexts
	if err := decodeMsgpack(encoded, &texts); err != nil {
		return errSecrets // the decoder's error may contain the value
	}
	if e.LastError == "" {
		e.LastError, e.Stack = PrintableLines(texts.Last, maxErrorText), PrintableLines(texts.Stack, maxStackText)
	}
	if e.Details == nil {
		return nil
	}
	left := texts.Failures
	for i := range e.Details.Failures {
		f := &e.Details.Failures[i]
		for j := range left {
			if f.Error == "" && left[j].At == f.At.UnixMilli() {
				f.Error = PrintableLines(left[j].Text, maxFailureText)
				left = append(left[:j:j], left[j+1:]...)
				break
			}
		}
	}
	return nil
}

// resultSecrets are the parts of a Result that are sealed.
type resultSecrets struct {
	Error string `json:"e,omitempty"`
	Note  string `json:"m,omitempty"`
	Value []byte `json:"v,omitempty"`
}

// TakeSecrets removes error, note and value from a result, and returns them encoded.
func (r *Result) TakeSecrets() []byte {
	encoded, err := Encode(resultSecrets{PrintableLines(r.Error, maxFailureText), r.Note, r.Value})
	if err != nil {
		panic(err) // it has strings and bytes only, and less than MaxEncoded of them
	}
	r.Error, r.Note, r.Value = "", "", nil
	return encoded
}

// GiveSecrets puts back what TakeSecrets has returned.
func (r *Result) GiveSecrets(encoded []byte) error {
	var s resultSecrets
	if err := decodeMsgpack(encoded, &s); err != nil {
		return errSecrets // the decoder's error may contain the value
	}
	r.Error, r.Note, r.Value = PrintableLines(s.Error, maxFailureText), PrintableLines(s.Note, MaxNote), some(s.Value)
	return nil
}

// progressMark begins a sealed progress. No value that is encoded begins with its first byte.
var progressMark = []byte("\xc1cs1")

// SealedProgress returns progress with a mark that it is sealed.
func SealedProgress(sealed []byte) []byte { return append(bytes.Clone(progressMark), sealed...) }

// CutSealedProgress returns what SealedProgress has marked; false: it is not sealed.
func CutSealedProgress(progress []byte) (sealed []byte, ok bool) {
	return bytes.CutPrefix(progress, progressMark)
}
