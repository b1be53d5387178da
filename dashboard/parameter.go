package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// parameters are all parameters that the address of a page may have. Each page checks the meaning and the size of its own parameters.
var parameters = map[string]bool{
	"after": true, "before": true, "by": true, "day": true, "error": true, "from": true, "group": true, "limit": true, "own": true, "owner": true, "page": true, "prefix": true, "q": true, "queue": true,
	"arg": true, "header": true, "id": true, "is": true, "value": true, // what is to be found
	"runs": true, "said": true, "sort": true, "state": true, "tab": true, "window": true, "zone": true,
}

// unknownParameter reports a parameter that no page has, so that a link for another program is not served as if the parameter were absent.
// It returns "" if all are known.
func (c *call) unknownParameter() string {
	if c.r.Method == http.MethodPost {
		return "" // the parameters of a form are in its body
	}
	return wrongQuery(c.r.URL.RawQuery, c.path == "events")
}

// wrongQuery reports what is wrong with the query of an address, or "". stream: it is the address of a stream, which contains a page's address.
func wrongQuery(raw string, stream bool) string {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Sprintf("The address cannot be read: %v. In an address, write %%25 for %% and %%3B for ;.", err)
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !parameters[key] || key == "page" && !stream:
			return fmt.Sprintf("No page has the parameter %.40q. The parameters are %s.", key, strings.Join(slices.Sorted(maps.Keys(parameters)), ", "))
		case len(query[key]) > 1:
			return fmt.Sprintf("The address has the parameter %.40q %d times. Use it once.", key, len(query[key]))
		}
	}
	return ""
}
