package plain

import "testing"

func TestAWorkerIsNamedByItsHost(t *testing.T) {
	for name, want := range map[string][2]string{
		"app-1:4711:v1.2.3:ABCDEFGHIJKLM": {"app-1:4711", "v1.2.3"}, "app-1:4711::ABCDEFGHIJKLM": {"app-1:4711", ""}, ":4711::ABCDEFGHIJKLM": {"pid 4711", ""},
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ": {"ABCDEFGH", ""}, "w": {"w", ""}, "": {"", ""},
	} {
		if address, version := Worker(name); address != want[0] || version != want[1] {
			t.Errorf("%q: got %q, %q, want %q", name, address, version, want)
		}
	}
}
