package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	return wrongQuery(c.r.URL.RawQuery, c.path == "events")
}

// wrongQuery says what no address of a page has; empty: nothing. stream: it is the address of a stream, which names that of a page.
func wrongQuery(raw string, stream bool) string {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Sprintf("The address cannot be read: %v. A %% is written %%25 there, and a ; is %%3B.", err)
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !parameters[key] || key == "page" && !stream:
			return fmt.Sprintf("No page has the parameter %.40q. There are %s.", key, strings.Join(slices.Sorted(maps.Keys(parameters)), ", "))
		case len(query[key]) > 1:
			return fmt.Sprintf("The address has the parameter %.40q %d times; want it once.", key, len(query[key]))
		}
	}
	return ""
}
