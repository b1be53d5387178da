package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// parameters are all that the address of a page may have. What one means, and how great it may be, its page says.
var parameters = map[string]bool{
	"after": true, "by": true, "day": true, "from": true, "limit": true, "own": true, "owner": true, "page": true, "prefix": true, "q": true, "queue": true,
	"runs": true, "said": true, "sort": true, "state": true, "tab": true, "window": true, "zone": true,
}

// unknownParameter says which parameter of an address no page has: a link that means something else is not answered as if it had said nothing.
// Empty: each is known.
func (c *call) unknownParameter() string {
	if c.r.Method == http.MethodPost {
		return "" // what a form means is in its body
	}
	for _, key := range slices.Sorted(maps.Keys(c.r.URL.Query())) {
		if !parameters[key] || key == "page" && c.path != "events" {
			return fmt.Sprintf("No page has the parameter %.40q. There are %q.", key, slices.Sorted(maps.Keys(parameters)))
		}
	}
	return ""
}
