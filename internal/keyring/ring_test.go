package keyring

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func text(name string, fill byte) string {
	return name + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), Size)))
}

func TestARingIsReadAndWritten(t *testing.T) {
	ring, err := Parse(" " + text("k2", 'b') + ",\n" + text("@ids", 'i') + " , " + text("k1", 'a') + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ring.Names()); got != "[k2 k1]" || string(ring.ID) != strings.Repeat("i", Size) {
		t.Errorf("keys %s, ID %q", got, ring.ID)
	}
	again, err := Parse(ring.Text())
	if err != nil || again.Text() != ring.Text() || string(again.Key("k1").Secret) != strings.Repeat("a", Size) {
		t.Errorf("written and read again: %v, %v", again, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, ring); got != "keys k2, k1" {
			t.Errorf("%s prints %s, want the names only", verb, got)
		}
	}
}

func TestAWrongRingIsRefusedWithoutItsKeys(t *testing.T) {
	var many []string
	for i := range MaxKeys + 1 {
		many = append(many, text(fmt.Sprint("k", i), 'x'))
	}
	for what, ring := range map[string]string{
		"empty": "", "no name": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", Size))), "a long name": text(strings.Repeat("n", 33), 'a'),
		"a name with a blank": text("a b", 'a'), "a short key": "k1:c2VjcmV0", "not base64": "k1:!!!!", "two of a name": text("k1", 'a') + "," + text("k1", 'b'),
		"two keys of IDs": text("k", 'a') + "," + text("@ids", 'a') + "," + text("@ids", 'b'), "only the key of IDs": text("@ids", 'a'),
		"too many": strings.Join(many, ","),
	} {
		_, err := Parse(ring)
		if err == nil {
			t.Errorf("%s: it was read", what)
		} else if strings.Contains(err.Error(), "c3Nzc3") || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: the error contains a key: %v", what, err)
		}
	}
}

func TestAKeyIsAddedAtTheEndAndMovedToTheFront(t *testing.T) {
	ring := new(Ring)
	for _, want := range []string{"k1", "k2", "other"} {
		name := ""
		if want == "other" {
			name = want
		}
		if got, err := ring.Add(name); err != nil || got != want {
			t.Fatalf("added %q, %v; want %q", got, err, want)
		}
	}
	if _, err := ring.Add("k1"); err == nil {
		t.Error("a second k1 was added")
	}
	if err := ring.First("k2"); err != nil || !slices.Equal(ring.Names(), []string{"k2", "k1", "other"}) {
		t.Errorf("%v, %v", ring, err)
	}
	if ring.First("gone") == nil {
		t.Error("an unknown key was moved")
	}
	ring.AddID()
	id := string(ring.ID)
	if ring.AddID(); len(id) != Size || string(ring.ID) != id {
		t.Error("the key of IDs has changed")
	}
}
