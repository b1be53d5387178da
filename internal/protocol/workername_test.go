package protocol

import (
	"strings"
	"testing"
)

func TestAWorkersNameHasHostPidAndVersion(t *testing.T) {
	long := strings.Repeat("a-very-long-name-of-a-pod-", 3)
	for _, c := range []struct {
		host, version string
		want          string // without the random part
	}{
		{"app-1", "v1.4.2", "app-1:4711:v1.4.2:"},
		{"app_1.example.com", "", "app_1.example.com:4711::"},
		{"", "v1.2.3+build.7", ":4711:v1.2.3+build.7:"},
		{"a b:c|d\te\xffé", "x\x00:y", "a-b-c-d-e---:4711:x--y:"},
		{"ip-10-0-12-34." + long, "v2.0.0-rc.1.0.20261127", "ip-10-0-12-34:4711:v2.0.0-rc.1.0.202611:"},
		{long, "v0.0.0-20261127125040-abcdef012345", long[:63] + ":4711:abcdef012345:"},
		{"h", "v0.1.1-0.20261127125040-abcdef012345+dirty", "h:4711:abcdef012345+dirty:"},
		{"h", "56971469abcdef0123456789abcdef0123456789", "h:4711:56971469abcd:"},
		{"h", "a-branch-of-somebody-in-a-hurry", "h:4711:a-branch-of-somebody:"},
	} {
		name, again := NewWorkerName(c.host, 4711, c.version), NewWorkerName(c.host, 4711, c.version)
		if !strings.HasPrefix(name, c.want) || len(name) != len(c.want)+13 || name == again || len(name) > 120 {
			t.Errorf("%q of version %q is called %q and %q, want %q and 13 letters of its own", c.host, c.version, name, again, c.want)
		}
		parts := strings.Split(c.want, ":")
		if host, pid, version, ok := ParseWorkerName(name); host != parts[0] || pid != 4711 || version != parts[2] || !ok {
			t.Errorf("%q is read as %q, %d, %q, %v", name, host, pid, version, ok)
		}
	}
	for _, name := range []string{"", "w", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "h:1:v", "h:1:v:ABC", "h:0:v:ABCDEFGHIJKLM", "h:-1:v:ABCDEFGHIJKLM", "h:01:v:ABCDEFGHIJKLM", "h:x:v:ABCDEFGHIJKLM", "h:1:v:w:ABCDEFGHIJKLM", "h h:1:v:ABCDEFGHIJKLM"} {
		if host, pid, version, ok := ParseWorkerName(name); host != "" || pid != 0 || version != "" || ok {
			t.Errorf("%q is read as %q, %d, %q, %v, want nothing", name, host, pid, version, ok)
		}
	}
}
