package render

import (
	"net/url"
	"strings"
	"testing"
)

var awkwardNames = []string{"report", "", ".", "..", "...", "~", "~~", "~.", "new", "~new", "bulk", "/", "//", "a/b", "%2F", "%", "?", "#x", "a b", "a+b", "a:b", `\`, "naïve", "日本", "\u202e", "\n", "\x00", "\xff"}

func TestANameInAnAddressIsTheNameThatWasMeant(t *testing.T) {
	for _, name := range awkwardNames {
		checkSegment(t, name)
	}
	for _, segment := range []string{"", "%", "%zz"} {
		if name, ok := Unsegment(segment); ok {
			t.Errorf("the segment %q is the name %q, want none", segment, name)
		}
	}
}

func FuzzSegment(f *testing.F) {
	for _, name := range awkwardNames {
		f.Add(name)
	}
	f.Fuzz(checkSegment)
}

// checkSegment follows a link to a page of the name, like a browser and a server.
func checkSegment(t *testing.T, name string) {
	segment := Segment(name)
	if got, ok := Unsegment(segment); !ok || got != name {
		t.Errorf("the segment %q of %q is the name %q, %v", segment, name, got, ok)
	}
	base, _ := url.Parse("https://example.org/chime/")
	link, err := base.Parse("./schedules/" + segment + "/edit")
	if err != nil {
		t.Fatalf("the segment %q of %q: %v", segment, name, err)
	}
	parts := strings.Split(link.EscapedPath(), "/")
	if len(parts) != 5 || parts[3] == "new" || parts[3] == "bulk" || link.RawQuery != "" || link.Fragment != "" {
		t.Fatalf("the link to %q leads to %s", name, link)
	}
	if got, ok := Unsegment(parts[3]); !ok || got != name {
		t.Errorf("the link to %q leads to %q, %v", name, got, ok)
	}
}
