package resource

import "testing"

// A quota that the client has not set follows the sku, also if a patch changes the sku; a quota that the client has set does not change.
func TestAPatchOfTheSKUBringsItsQuota(t *testing.T) {
	for _, c := range []struct {
		name, stored, patch string
		want                Quota
		code                string
	}{
		{"from none to Free", `{}`, `{"properties": {"sku": {"name": "Free"}}}`, Quota{MaxJobCount: 5, MaxFrequency: "Hour", MaxInterval: 1}, ""},
		{"from Free to Standard", `{"sku": {"name": "Free"}}`, `{"sku": {"name": "Standard"}}`, Quota{MaxJobCount: 50, MaxFrequency: "Minute", MaxInterval: 1}, ""},
		{"to none", `{"sku": {"name": "Free"}}`, `{"sku": null}`, Quota{MaxJobCount: 1000, MaxFrequency: "Minute", MaxInterval: 1}, ""},
		{"a quota that the client has set", `{"quota": {"maxJobCount": 3}}`, `{"sku": {"name": "Standard"}}`, Quota{MaxJobCount: 3, MaxFrequency: "Minute", MaxInterval: 1}, ""},
		{"a quota that is too large for Free", `{"quota": {"maxJobCount": 7}}`, `{"sku": {"name": "Free"}}`, Quota{}, "quota_value"},
	} {
		old, mistakes := ReadCollection([]byte(c.stored), "demo")
		if len(mistakes) > 0 {
			t.Fatalf("%s: %+v", c.name, mistakes)
		}
		got, mistakes := old.Patch([]byte(c.patch), "demo")
		switch {
		case c.code != "" && (len(mistakes) == 0 || string(mistakes[0].Code) != c.code):
			t.Errorf("%s: mistakes %+v, want %s", c.name, mistakes, c.code)
		case c.code == "" && (len(mistakes) > 0 || got.Quota != c.want):
			t.Errorf("%s: quota %+v, mistakes %+v; want %+v", c.name, got.Quota, mistakes, c.want)
		}
	}
}
