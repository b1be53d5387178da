package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// The bounds of lists.
const (
	maxTop   = 100
	maxSkip  = 10_000
	maxCount = 100
	fewNext  = 10 // default number of instants
)

// A page is the part of a list that a request wants.
type page struct {
	top   int
	skip  int
	after string // the last name, or fence, of the page before; empty: it is the first
	only  string // the word of the filter in lower case; empty: all
}

// page reads the parameters of a list. Its filter is `field eq word`, with one of words; token reports whether an entry can have the name in a
// $skiptoken. All mistakes are returned at once.
func (c *call) page(field string, words []string, token *regexp.Regexp) (page, error) {
	var p page
	var bad []problem.Mistake
	p.top = c.number(&bad, "$top", "top", 1, maxTop, maxTop)
	p.skip = c.number(&bad, "$skip", "skip", 0, maxSkip, 0)
	if given := c.one(&bad, "$filter", "filter"); given != "" {
		if p.only = filtered(given, field); !slices.Contains(words, p.only) {
			bad = append(bad, problem.Mistake{Code: "filter", Field: "$filter", Value: cut(given, 100), Detail: "want " + field + " eq '…' with one of " + strings.Join(words, ", ")})
		}
	}
	if given := c.one(&bad, "$skiptoken", "skiptoken"); given != "" {
		after, err := base64.RawURLEncoding.DecodeString(given)
		if p.after = string(after); err != nil || !token.MatchString(p.after) {
			bad = append(bad, problem.Mistake{Code: "skiptoken", Field: "$skiptoken", Value: cut(given, 100), Detail: "want the value from a nextLink"})
		}
	}
	return p, asError(problem.Invalid(bad))
}

// asError is a problem as an error; a nil problem is a nil error.
func asError(p *problem.Problem) error {
	if p == nil {
		return nil
	}
	return p
}

// one is the value of a parameter that may be given at most once.
// count is the number of instants in the request.
func (c *call) one(bad *[]problem.Mistake, name, code string) string {
	given := c.query[name]
	if len(given) > 1 {
		*bad = append(*bad, problem.Mistake{Code: code, Field: name, Value: cut(strings.Join(given, ", "), 100), Detail: "is given twice"})
		return ""
	}
	return strings.Join(given, "")
}

// number is the value of a parameter within bounds, or its default.
func (c *call) number(bad *[]problem.Mistake, name, code string, low, high, standard int) int {
	given := c.one(bad, name, code)
	if given == "" {
		return standard
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < low || n > high || strconv.Itoa(n) != given {
		*bad = append(*bad, problem.Mistake{Code: code, Field: name, Value: cut(given, 100), Detail: "want " + strconv.Itoa(low) + " to " + strconv.Itoa(high)})
		return standard
	}
	return n
}

// count is how many instants are wanted.
func (c *call) count() (int, error) {
	var bad []problem.Mistake
	n := c.number(&bad, "count", "count", 1, maxCount, fewNext)
	return n, asError(problem.Invalid(bad))
}

var filterForm = regexp.MustCompile(`^\s*([A-Za-z]+)\s+[eE][qQ]\s+(?:'([A-Za-z]+)'|([A-Za-z]+))\s*$`)

// filtered is the word of a filter by a field, in lower case; empty if it is not such a filter.
func filtered(filter, field string) string {
	m := filterForm.FindStringSubmatch(filter)
	if m == nil || !strings.EqualFold(m[1], field) {
		return ""
	}
	return strings.ToLower(m[2] + m[3])
}

// list is the answer of a page. next is the name, or the fence, after which the next page begins; empty: this is the last page.
func (c *call) list(path string, entries [][]byte, next string) *answer {
	body := []byte(`{"value":[`)
	for i, entry := range entries {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, entry...)
	}
	body = append(body, ']')
	if next != "" {
		body = append(append(body, `,"nextLink":`...), quote(c.nextLink(path, next))...)
	}
	return &answer{status: 200, body: append(body, '}')}
}

// nextLink is the URL of the next page: this page's URL with another start.
func (c *call) nextLink(path, next string) string {
	query := url.Values{"$skiptoken": {base64.RawURLEncoding.EncodeToString([]byte(next))}}
	c.kept(query)
	at, _, _ := strings.Cut(c.url(path), "?")
	return at + "?" + query.Encode()
}

// quote is a text as JSON.
func quote(text string) []byte { return encode(text) }

// encode returns a value as JSON; it never fails for the values of this package. URLs keep their &.
func encode(v any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("httpapi: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
