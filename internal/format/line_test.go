package format

import "testing"

func TestTheFirstLineIsNotBlank(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "no bank": "no bank", "no bank\n\tat main.go:1": "no bank", "\n\n  exit status 1 \r\nno bank": "exit status 1", " \n\t": "",
	} {
		if got := FirstLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
